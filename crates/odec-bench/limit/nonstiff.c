/* The limit of non-stiff problems: Dormand and Prince's pair of order 5 (Hairer, Norsett & Wanner I, DOPRI5, with its
   controller) around straight-line f. Kinds: 0 Lorenz, 1 Arenstorf, 2 Pleiades. */
#include <math.h>
#include <string.h>
#define INLINE static inline __attribute__((always_inline))
INLINE void lorenz(const double*restrict y,double*restrict d,const double*p){d[0]=10*(y[1]-y[0]);d[1]=y[0]*(p[0]-y[2])-y[1];d[2]=y[0]*y[1]-(8.0/3)*y[2];}
INLINE void arenstorf(const double*restrict y,double*restrict d,const double*p){(void)p;const double mu=0.012277471,mp=1-mu;const double a=y[0]+mu,b=y[0]-mp,yy=y[1]*y[1];const double r=a*a+yy,s=b*b+yy;const double R=mp/(r*sqrt(r)),S=mu/(s*sqrt(s));
 d[0]=y[2];d[1]=y[3];d[2]=y[0]+2*y[3]-R*a-S*b;d[3]=y[1]-2*y[2]-R*y[1]-S*y[1];}
/* x1..x7, y1..y7 and their speeds */
INLINE void pleiades(const double*restrict y,double*restrict d,const double*p){(void)p;double ax[7]={0},ay[7]={0};
 for(int i=0;i<14;i++)d[i]=y[14+i];
 for(int i=0;i<7;i++)for(int j=i+1;j<7;j++){const double dx=y[j]-y[i],dy=y[7+j]-y[7+i],r=dx*dx+dy*dy,q=1/(r*sqrt(r)),qx=q*dx,qy=q*dy;ax[i]+=(j+1)*qx;ay[i]+=(j+1)*qy;ax[j]-=(i+1)*qx;ay[j]-=(i+1)*qy;}
 for(int i=0;i<7;i++){d[14+i]=ax[i];d[21+i]=ay[i];}}
#define DOPRI5(NAME,F,n) \
__attribute__((noinline)) static int NAME(const double*p,double t1,double rtol,double atol,double*y,long*count){\
 double k1[n],k2[n],k3[n],k4[n],k5[n],k6[n],w[n];double t=0,h,facold=1e-4;int rej=0;long ns=0,nf=1,nr=0;F(y,k1,p);\
 double dy=0,df=0;for(int i=0;i<n;i++){const double s=atol+rtol*fabs(y[i]);dy+=y[i]/s*(y[i]/s);df+=k1[i]/s*(k1[i]/s);}\
 h=dy<1e-10||df<1e-10?1e-6:0.01*sqrt(dy/df);if(h>t1)h=t1;\
 for(int i=0;i<n;i++)w[i]=y[i]+h*k1[i];F(w,k2,p);nf++;double d2=0;for(int i=0;i<n;i++){const double s=atol+rtol*fabs(y[i]);const double e=(k2[i]-k1[i])/s;d2+=e*e;}\
 {const double m=fmax(sqrt(d2)/h,sqrt(df));const double h1=m<1e-15?fmax(1e-6,h*1e-3):pow(0.01/m,0.2);h=fmin(fmin(100*h,h1),t1);}\
 while(t<t1){if(t+1.01*h>=t1)h=t1-t;if(!(h>1e-16*t))return -1;\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(1.0/5)*k1[i];F(w,k2,p);\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(3.0/40*k1[i]+9.0/40*k2[i]);F(w,k3,p);\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(44.0/45*k1[i]-56.0/15*k2[i]+32.0/9*k3[i]);F(w,k4,p);\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(19372.0/6561*k1[i]-25360.0/2187*k2[i]+64448.0/6561*k3[i]-212.0/729*k4[i]);F(w,k5,p);\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(9017.0/3168*k1[i]-355.0/33*k2[i]+46732.0/5247*k3[i]+49.0/176*k4[i]-5103.0/18656*k5[i]);F(w,k6,p);\
  for(int i=0;i<n;i++)w[i]=y[i]+h*(35.0/384*k1[i]+500.0/1113*k3[i]+125.0/192*k4[i]-2187.0/6784*k5[i]+11.0/84*k6[i]);F(w,k2,p);nf+=6;\
  double er=0;for(int i=0;i<n;i++){const double e=h*(71.0/57600*k1[i]-71.0/16695*k3[i]+71.0/1920*k4[i]-17253.0/339200*k5[i]+22.0/525*k6[i]-1.0/40*k2[i])/(atol+rtol*fmax(fabs(y[i]),fabs(w[i])));er+=e*e;}er=sqrt(er/n);\
  const double f11=pow(er,0.2-0.04*0.75);double fac=f11/pow(facold,0.04);fac=fmax(0.1,fmin(5.0,fac/0.9));double hn=h/fac;\
  if(er<=1){facold=fmax(er,1e-4);ns++;t+=h;memcpy(y,w,sizeof w);memcpy(k1,k2,sizeof k1);if(rej&&hn>h)hn=h;rej=0;h=hn;}\
  else{h=h/fmin(5.0,f11/0.9);rej=1;nr++;}}\
 count[0]=ns;count[1]=nf;count[2]=0;count[3]=0;return 0;}
DOPRI5(solve_lorenz,lorenz,3)
DOPRI5(solve_arenstorf,arenstorf,4)
DOPRI5(solve_pleiades,pleiades,28)
int limit_dopri5(int kind,const double*p,double t1,double rtol,double atol,double*y,long*count){return kind==0?solve_lorenz(p,t1,rtol,atol,y,count):kind==1?solve_arenstorf(p,t1,rtol,atol,y,count):solve_pleiades(p,t1,rtol,atol,y,count);}
void limit_nonstiff_f(int kind,const double*p,const double*y,double*d){if(kind==0)lorenz(y,d,p);else if(kind==1)arenstorf(y,d,p);else pleiades(y,d,p);}
