/* The limit of the method of lines. Brusselator 1-D: block-tridiagonal LU of 2 by 2 blocks with Rodas4 and Rodas5P.
   Brusselator and heat in 2-D: f, Jacobian and ILU(0) by hand, for other solvers on the same problem. */
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "mol.h"
#include "rosenbrock.h"
static int N,n;static double c;
/* E = g I - J : diagonal blocks [g-(2uv-4-2c), -u^2; -(3-2uv), g-(-u^2-2c)], beside them -c I; the inverted pivots are kept */
static void lu(double g,const double*y,double*I){double p0=0,p1=0,p2=0,p3=0;const double cc=c*c;
 for(int i=0;i<N;i++){double u=y[2*i],v=y[2*i+1],uv2=2*u*v,uu=u*u;double a=g-uv2+4+2*c-cc*p0,b=-uu-cc*p1,d=uv2-3-cc*p2,e=g+uu+2*c-cc*p3;double id=1/(a*e-b*d);p0=e*id;p1=-b*id;p2=-d*id;p3=a*id;I[4*i]=p0;I[4*i+1]=p1;I[4*i+2]=p2;I[4*i+3]=p3;}}
static void sol(const double*I,double*b){double x=0,z=0;
 for(int i=0;i<N;i++){double r=b[2*i]+c*x,s=b[2*i+1]+c*z;x=I[4*i]*r+I[4*i+1]*s;z=I[4*i+2]*r+I[4*i+3]*s;b[2*i]=x;b[2*i+1]=z;}
 for(int i=N-2;i>=0;i--){double r=c*b[2*i+2],s=c*b[2*i+3];b[2*i]+=I[4*i]*r+I[4*i+1]*s;b[2*i+1]+=I[4*i+2]*r+I[4*i+3]*s;}}
static inline __attribute__((always_inline)) void integrate(const mol_t*M,const int S,const double gam,const double(*A)[8],const double(*C)[8],double ord,double rt,double at,double*y,double t1,double**K,double*I,double*w,double*f0,long*count){
 double t=0,h=1e-6;long ns=0,nrej=0;mol_f(M,y,f0);
 while(t<t1){if(t+h>t1)h=t1-t; for(;;){lu(1/(h*gam),y,I);const double ih=1/h;
   memcpy(K[0],f0,n*8);sol(I,K[0]);
   for(int s=1;s<S;s++){ double a[8],q[8];for(int j=0;j<s;j++){a[j]=A[s][j];q[j]=C[s][j]*ih;}
    switch(s){
#define T(j) +a[j]*K[j][i]
#define Q(j) +q[j]*K[j][i]
    #define STG(X,Y) for(int i=0;i<n;i++)w[i]=y[i] X; mol_f(M,w,K[s]); for(int i=0;i<n;i++)K[s][i]+=0 Y; break;
    case 1:STG(T(0),Q(0)) case 2:STG(T(0)T(1),Q(0)Q(1)) case 3:STG(T(0)T(1)T(2),Q(0)Q(1)Q(2)) case 4:STG(T(0)T(1)T(2)T(3),Q(0)Q(1)Q(2)Q(3)) case 5:STG(T(0)T(1)T(2)T(3)T(4),Q(0)Q(1)Q(2)Q(3)Q(4)) case 6:STG(T(0)T(1)T(2)T(3)T(4)T(5),Q(0)Q(1)Q(2)Q(3)Q(4)Q(5)) case 7:STG(T(0)T(1)T(2)T(3)T(4)T(5)T(6),Q(0)Q(1)Q(2)Q(3)Q(4)Q(5)Q(6)) }
    sol(I,K[s]); }
   double er=0;const double*k=K[S-1];for(int i=0;i<n;i++){w[i]+=k[i];double e=k[i]/(at+rt*fmax(fabs(y[i]),fabs(w[i])));er+=e*e;} er=sqrt(er/n)+1e-30;
   double fac=0.9*exp(-log(er)/ord);if(fac>6)fac=6;if(fac<.2)fac=.2; if(er<=1){ns++;t+=h;memcpy(y,w,n*8);mol_f(M,y,f0);h*=fac;break;}nrej++;h*=fac;}}
 count[0]=ns;count[1]=ns*(S-1)+nrej*(S-1)+ns+1;count[2]=ns;count[3]=ns+nrej;}

/* work arrays for `cells` cells: kept by the caller from run to run, freed by limit_lines_free */
typedef struct{double*K[8],*I,*w,*f0;} work_t;
void*limit_lines_new(int cells){work_t*W=malloc(sizeof*W);size_t bytes=(2*(size_t)cells*8+63)/64*64;for(int i=0;i<8;i++)W->K[i]=aligned_alloc(64,bytes);W->I=aligned_alloc(64,2*bytes);W->w=aligned_alloc(64,bytes);W->f0=aligned_alloc(64,bytes);return W;}
void limit_lines_free(void*work){work_t*W=work;for(int i=0;i<8;i++)free(W->K[i]);free(W->I);free(W->w);free(W->f0);free(W);}
/* Brusselator 1-D; method: 0 Rodas4, 1 Rodas5P. y: start, then end. */
void limit_lines_solve(void*work,int cells,int method,double t1,double rtol,double atol,double*y,long*count){work_t*W=work;mol_t M={1,cells};N=cells;n=2*N;c=0.02*(N+1.)*(N+1.);
 if(method)integrate(&M,8,GAMMA5,A5,C5,5.,rtol,atol,y,t1,W->K,W->I,W->w,W->f0,count);else integrate(&M,6,GAMMA4,A4,C4,4.,rtol,atol,y,t1,W->K,W->I,W->w,W->f0,count);}

void limit_mol_start(int kind,int N,double*y){mol_t M={kind,N};mol_y0(&M,y);}
void limit_mol_f(int kind,int N,const double*y,double*d){mol_t M={kind,N};mol_f(&M,y,d);}
/* entries by column, rows ascending; the number of entries comes back */
long limit_mol_jacobian(int kind,int N,const double*y,long*col,long*row,double*value){mol_t M={kind,N};return mol_jac_csc(&M,y,col,row,value);}

/* sum of products, in lanes: for solvers whose own does not vectorise */
double limit_dot(long n,const double*a,const double*b){double s[16]={0};long i=0;for(;i+16<=n;i+=16)for(int k=0;k<16;k++)s[k]+=a[i+k]*b[i+k];double r=0;for(int k=0;k<16;k++)r+=s[k];for(;i<n;i++)r+=a[i]*b[i];return r;}
double limit_weighted(long n,const double*a,const double*w){double s[16]={0};long i=0;for(;i+16<=n;i+=16)for(int k=0;k<16;k++){double e=a[i+k]*w[i+k];s[k]+=e*e;}double r=0;for(int k=0;k<16;k++)r+=s[k];for(;i<n;i++){double e=a[i]*w[i];r+=e*e;}return r;}

/* ILU(0) of 1 - g J by rows, from J by columns: `start` and `index` are of the rows, `from` the place of each entry among
   those by columns; the inverted diagonal goes to `inverse`. */
void limit_ilu(long n,const int*start,const int*index,const int*diagonal,const long*from,double g,const double*J,double*a,double*inverse,int*place){
 for(long k=0;k<start[n];k++)a[k]=-g*J[from[k]];
 for(long i=0;i<n;i++)a[diagonal[i]]+=1;
 for(long i=0;i<n;i++)place[i]=-1;
 for(long i=0;i<n;i++){for(int k=start[i];k<start[i+1];k++)place[index[k]]=k;
  for(int k=start[i];k<diagonal[i];k++){const int j=index[k];const double l=a[k]*=inverse[j];
   for(int q=diagonal[j]+1;q<start[j+1];q++){const int p=place[index[q]];if(p>=0)a[p]-=l*a[q];}}
  inverse[i]=1/a[diagonal[i]];
  for(int k=start[i];k<start[i+1];k++)place[index[k]]=-1;}}
void limit_ilu_solve(long n,const int*start,const int*index,const int*diagonal,const double*a,const double*inverse,const double*b,double*x){
 for(long i=0;i<n;i++){double s=b[i];for(int k=start[i];k<diagonal[i];k++)s-=a[k]*x[index[k]];x[i]=s;}
 for(long i=n-1;i>=0;i--){double s=x[i];for(int k=diagonal[i]+1;k<start[i+1];k++)s-=a[k]*x[index[k]];x[i]=s*inverse[i];}}

/* J(y) v of the problems in 2-D */
void limit_mol_jv(int kind,int N,const double*restrict y,const double*restrict v,double*restrict d){
 if(kind==3){mol_t M={kind,N};mol_f(&M,v,d);return;}
 if(kind==2){const double c=0.1*(double)N*N;
  for(int j=0;j<N;j++){const double*r=v+2*j*N,*rd=v+2*((j+N-1)%N)*N,*ru=v+2*((j+1)%N)*N,*w=y+2*j*N;double*o=d+2*j*N;
#define CELL(i,l,g) {const double u=w[2*(i)],z=w[2*(i)+1],a=2*u*z*r[2*(i)]+u*u*r[2*(i)+1];\
   o[2*(i)]=a-4.4*r[2*(i)]+c*(r[2*(l)]+r[2*(g)]+rd[2*(i)]+ru[2*(i)]-4*r[2*(i)]);\
   o[2*(i)+1]=3.4*r[2*(i)]-a+c*(r[2*(l)+1]+r[2*(g)+1]+rd[2*(i)+1]+ru[2*(i)+1]-4*r[2*(i)+1]);}
   CELL(0,N-1,1) for(int i=1;i<N-1;i++)CELL(i,i-1,i+1) CELL(N-1,N-2,0)}}
 else{const double c=0.02*(N+1.0)*(N+1.0);for(int i=0;i<N;i++){const double u=y[2*i],z=y[2*i+1],a=2*u*z*v[2*i]+u*u*v[2*i+1];
  const double ul=i?v[2*i-2]:0,vl=i?v[2*i-1]:0,ur=i<N-1?v[2*i+2]:0,vr=i<N-1?v[2*i+3]:0;
  d[2*i]=a-4*v[2*i]+c*(ul-2*v[2*i]+ur);d[2*i+1]=3*v[2*i]-a+c*(vl-2*v[2*i+1]+vr);}}}

/* Solves with the factors of ILU(0), written for the grids. `band` holds them by diagonals, n values each, as limit_grid_bands
   sorts them: for the square west, south, inverse, east, north; on the torus the same for each of two species, the coupling
   in a cell, and what wraps around. */
void limit_grid_bands(int kind,int N,const int*start,const int*index,const int*diagonal,const double*a,const double*inverse,double*band){
 const long s=kind==2?2:1,n=s*(long)N*N;memset(band,0,sizeof(double)*n*8);
 for(long r=0;r<n;r++){band[8*r+7]=inverse[r];
  for(int k=start[r];k<start[r+1];k++){const long o=index[k]-r;if(k==diagonal[r])continue;
   const int b=(s==2&&(o==1||o==-1))?6:o==-s?0:o==s?1:o==-s*N?2:o==s*N?3:(o==s*(N-1)||o==-s*(N-1))?4:5;band[8*r+b]=a[k];}}}
void limit_grid_solve(int kind,int N,const double*restrict F,const double*restrict b,double*restrict x){
 if(kind==3){const long n=(long)N*N;
  for(long j=0;j<N;j++){double w=0;for(long i=0;i<N;i++){const long q=j*N+i;w=b[q]-F[8*q]*w;if(j)w-=F[8*q+2]*x[q-N];x[q]=w;}}
  for(long j=N-1;j>=0;j--){double w=0;for(long i=N-1;i>=0;i--){const long q=j*N+i;w=x[q]-F[8*q+1]*w;if(j<N-1)w-=F[8*q+3]*x[q+N];w*=F[8*q+7];x[q]=w;}}
  (void)n;return;}
 for(long j=0;j<N;j++){double u=0,v=0;const long row=2*j*N;
  for(long i=0;i<N;i++){const long q=row+2*i;const double*A=F+8*q,*B=A+8;
   double r=b[q],s=b[q+1];if(j){r-=A[2]*x[q-2*N];s-=B[2]*x[q+1-2*N];}
   if(j==N-1){r-=A[5]*x[2*i];s-=B[5]*x[2*i+1];}
   if(i==N-1){r-=A[4]*x[row];s-=B[4]*x[row+1];}
   u=r-A[0]*u;v=s-B[0]*v-B[6]*u;x[q]=u;x[q+1]=v;}}
 for(long j=N-1;j>=0;j--){double u=0,v=0;const long row=2*j*N;
  for(long i=N-1;i>=0;i--){const long q=row+2*i;const double*A=F+8*q,*B=A+8;
   double r=x[q],s=x[q+1];if(j<N-1){r-=A[3]*x[q+2*N];s-=B[3]*x[q+1+2*N];}
   if(j==0){r-=A[5]*x[2*(N-1)*(long)N+2*i];s-=B[5]*x[2*(N-1)*(long)N+2*i+1];}
   if(i==0){r-=A[4]*x[row+2*(N-1)];s-=B[4]*x[row+2*(N-1)+1];}
   v=(s-B[1]*v)*B[7];u=(r-A[1]*u-A[6]*v)*A[7];x[q]=u;x[q+1]=v;}}}
