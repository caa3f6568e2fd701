/* Method-of-lines problems, hand-written C, unknowns (u, v) side by side. Kinds: 1 Brusselator 1-D, 2 Brusselator 2-D
   (periodic), 3 heat 2-D; N points along an edge. */
#include <stdlib.h>
#include <math.h>
#ifndef MOL_H
#define MOL_H
typedef struct{int kind,N;} mol_t;
static void mol_y0(const mol_t*m,double*y){int N=m->N;
 if(m->kind==1)for(int i=0;i<N;i++){y[2*i]=1+sin(2*M_PI*(i+1)/(N+1));y[2*i+1]=3;}
 if(m->kind==2)for(int j=0;j<N;j++)for(int i=0;i<N;i++){double x=(double)i/N,z=(double)j/N;y[2*(j*N+i)]=22*z*(1-z)*sqrt(1-z);y[2*(j*N+i)+1]=27*x*(1-x)*sqrt(1-x);}
 if(m->kind==3){double h=1.0/(N+1);for(int j=1;j<=N;j++)for(int i=1;i<=N;i++)y[(j-1)*N+i-1]=16*(i*h)*(1-i*h)*(j*h)*(1-j*h);}}
static void mol_f(const mol_t*m,const double*restrict y,double*restrict d){int N=m->N;
 if(m->kind==1){const double c=0.02*(N+1.0)*(N+1.0); double ul=1,vl=3;
  for(int i=0;i<N;i++){double u=y[2*i],v=y[2*i+1],ur=i<N-1?y[2*i+2]:1.0,vr=i<N-1?y[2*i+3]:3.0,uuv=u*u*v;
   d[2*i]=1.0+uuv-4.0*u+c*(ul-2*u+ur); d[2*i+1]=3.0*u-uuv+c*(vl-2*v+vr); ul=u;vl=v;} }
 else if(m->kind==2){const double c=0.1*(double)N*N;
  for(int j=0;j<N;j++){const double*r=y+2*j*N,*rd=y+2*((j+N-1)%N)*N,*ru=y+2*((j+1)%N)*N;double*o=d+2*j*N;
   for(int i=0;i<N;i++){int l=i?i-1:N-1,g=i<N-1?i+1:0;double u=r[2*i],v=r[2*i+1],uuv=u*u*v;
    o[2*i]=1.0+uuv-4.4*u+c*(r[2*l]+r[2*g]+rd[2*i]+ru[2*i]-4*u);
    o[2*i+1]=3.4*u-uuv+c*(r[2*l+1]+r[2*g+1]+rd[2*i+1]+ru[2*i+1]-4*v);}} }
 else {const double c=(N+1.0)*(N+1.0);
  for(int j=0;j<N;j++)for(int i=0;i<N;i++){int k=j*N+i;double s=-4*y[k];if(i)s+=y[k-1];if(i<N-1)s+=y[k+1];if(j)s+=y[k-N];if(j<N-1)s+=y[k+N];d[k]=c*s;} } }
/* iterate J entries column by column, rows ascending: callback style via arrays; returns nnz. Pass NULL vals to count. CSC */
static long mol_jac_csc(const mol_t*m,const double*y,long*cp,long*ri,double*vx){int N=m->N;long k=0;
 if(m->kind==1){const double c=0.02*(N+1.0)*(N+1.0);
  for(int i=0;i<N;i++){double u=y[2*i],v=y[2*i+1];
   cp[2*i]=k; if(i){ri[k]=2*i-2;vx[k++]=c;} ri[k]=2*i;vx[k++]=2*u*v-4-2*c; ri[k]=2*i+1;vx[k++]=3-2*u*v; if(i<N-1){ri[k]=2*i+2;vx[k++]=c;}
   cp[2*i+1]=k; if(i){ri[k]=2*i-1;vx[k++]=c;} ri[k]=2*i;vx[k++]=u*u; ri[k]=2*i+1;vx[k++]=-u*u-2*c; if(i<N-1){ri[k]=2*i+3;vx[k++]=c;} } cp[2*N]=k;}
 else if(m->kind==2){const double c=0.1*(double)N*N;
  for(int j=0;j<N;j++)for(int i=0;i<N;i++){int q=j*N+i; double u=y[2*q],v=y[2*q+1];
   int nb[4]={j*N+(i?i-1:N-1),j*N+(i<N-1?i+1:0),((j+N-1)%N)*N+i,((j+1)%N)*N+i};
   for(int a=1;a<4;a++)for(int b=a;b>0&&nb[b]<nb[b-1];b--){int t=nb[b];nb[b]=nb[b-1];nb[b-1]=t;}
   for(int s=0;s<2;s++){cp[2*q+s]=k;int done=0;
    for(int a=0;a<=4;a++){ if(!done&&(a==4||nb[a]>q)){ if(s==0){ri[k]=2*q;vx[k++]=2*u*v-4.4-4*c;ri[k]=2*q+1;vx[k++]=3.4-2*u*v;} else {ri[k]=2*q;vx[k++]=u*u;ri[k]=2*q+1;vx[k++]=-u*u-4*c;} done=1;}
      if(a<4){ri[k]=2*nb[a]+s;vx[k++]=c;} } } } cp[2*N*N]=k;}
 else {const double c=(N+1.0)*(N+1.0);for(int j=0;j<N;j++)for(int i=0;i<N;i++){int q=j*N+i;cp[q]=k;
   if(j){ri[k]=q-N;vx[k++]=c;} if(i){ri[k]=q-1;vx[k++]=c;} ri[k]=q;vx[k++]=-4*c; if(i<N-1){ri[k]=q+1;vx[k++]=c;} if(j<N-1){ri[k]=q+N;vx[k++]=c;} } cp[N*N]=k;}
 return k;}
#endif
