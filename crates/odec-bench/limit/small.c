/* The limit of small stiff problems: straight-line f, sparse Jacobian, LU and triangular solves unrolled for the pattern
   (as the Kinetic PreProcessor writes them) in HDR; Rodas4, Rodas5P and Radau5 around them, without allocation. Compiled
   once for each problem, with PREFIX before its names. */
#include <math.h>
#include <complex.h>
#include <string.h>
#include HDR
#include "rosenbrock.h"
#define JOIN2(a,b) a##b
#define JOIN(a,b) JOIN2(a,b)
#define EXPORT(name) JOIN(PREFIX,name)
#define NI __attribute__((noinline))
#define FORN for(int i=0;i<N;i++)

/* the kernels, for other solvers on the same problem and to be timed alone */
void EXPORT(_f)(const double*y,double*d){fun(y,d);}
void EXPORT(_jacobian)(const double*y,double*J){jac(y,J);}
void EXPORT(_lu)(double g,const double*J,double*L){lu(g,J,L);}
void EXPORT(_triangular)(const double*L,double*b){solve(L,b);}
void EXPORT(_sizes)(int*sizes){sizes[0]=N;sizes[1]=NNZJ;sizes[2]=NNZL;}
void EXPORT(_start)(double*y,double*span,int*row,int*col){memcpy(y,Y0,sizeof Y0);span[0]=T1;span[1]=ASC;memcpy(row,ROW,sizeof ROW);memcpy(col,COL,sizeof COL);}

/* counts: accepted steps, f, Jacobians, factorisations */
static inline __attribute__((always_inline)) int rosenbrock(const int S,const double gam,const double(*A)[8],const double(*C)[8],const double*Mv,const double*Ev,const double elo,const double rtol,const double atol,double*y,long*count){
 double K[8][N],J[NNZJ],L[NNZL],f0[N],w[N],yn[N]; double t=0,h=1e-10; int rej=0; long ns=0,nf=0,nj=0,nl=0;
 fun(y,f0);nf++;
 while(t<T1){ if(t+h>=T1)h=T1-t; jac(y,J);nj++;
  for(;;){ const double ih=1.0/h; lu(ih/gam,J,L);nl++;
   for(int s=0;s<S;s++){ double r[N];
     if(s==0){FORN r[i]=f0[i];}
     else { FORN w[i]=y[i]; for(int j=0;j<s;j++) if(A[s][j]!=0){const double a=A[s][j];FORN w[i]+=a*K[j][i];} fun(w,r);nf++;
       for(int j=0;j<s;j++) if(C[s][j]!=0){const double c=C[s][j]*ih;FORN r[i]+=c*K[j][i];} }
     solve(L,r); FORN K[s][i]=r[i]; }
   FORN yn[i]=y[i]; for(int s=0;s<S;s++) if(Mv[s]!=0){const double m=Mv[s];FORN yn[i]+=m*K[s][i];}
   double er=0; FORN{double e=0;for(int s=0;s<S;s++)if(Ev[s]!=0)e+=Ev[s]*K[s][i]; double sc=atol+rtol*fmax(fabs(y[i]),fabs(yn[i]));e/=sc;er+=e*e;} er=sqrt(er/N);
   if(!(er==er))er=1e30; double fac=er>0?0.9*exp(-log(er)/elo):6.0; if(fac>6)fac=6;if(fac<0.2)fac=0.2;
   if(er<=1){ns++;t+=h;FORN y[i]=yn[i]; if(rej&&fac>1)fac=1;h*=fac;rej=0;fun(y,f0);nf++;break;} rej=1;h*=fac; if(h<1e-14*t||h<1e-60)return -1; } }
 count[0]=ns;count[1]=nf;count[2]=nj;count[3]=nl;
 return 0;}
NI static int rodas4(double rt,double at,double*y,long*count){return rosenbrock(6,GAMMA4,A4,C4,M4,E4,4.0,rt,at,y,count);}
NI static int rodas5p(double rt,double at,double*y,long*count){return rosenbrock(8,GAMMA5,A5,C5,M5,E5,5.0,rt,at,y,count);}

#include "radau5.h"

/* method: 0 Rodas4, 1 Rodas5P, 2 Radau5. y: start, then end. */
int EXPORT(_solve)(int method,double rtol,double atol,double*y,long*count){
 return method==0?rodas4(rtol,atol,y,count):method==1?rodas5p(rtol,atol,y,count):radau5(rtol,atol,y,count);}
