/* Radau5: the algorithm of Hairer & Wanner's code RADAU5 (Solving Ordinary Differential Equations II, section IV.8), with
   the pattern LU of the problem in real and in complex numbers. The header is read a second time for the complex one. */
typedef double _Complex cdouble;
#define double cdouble
#define fun complex_fun
#define jac complex_jac
#define lu complex_lu
#define solve complex_solve
#define Y0 complex_y0
#define ROW complex_row
#define COL complex_col
#include HDR
#undef double
#undef fun
#undef jac
#undef lu
#undef solve
#undef Y0
#undef ROW
#undef COL

/* eigenvectors of the inverse of the coefficients: T, its inverse, and the eigenvalues */
static const double T11=9.1232394870892942792e-02,T12=-0.14125529502095420843,T13=-3.0029194105147424492e-02,
 T21=0.24171793270710701896,T22=0.20412935229379993199,T23=0.38294211275726193779,T31=0.96604818261509293619;
static const double I11=4.3255798900631553510,I12=0.33919925181580986954,I13=0.54177053993587487119,
 I21=-4.1787185915519047273,I22=-0.32768282076106238708,I23=0.47662355450055045196,
 I31=-0.50287263494578687595,I32=2.5719269498556054292,I33=-0.59603920482822492497;

NI static int radau5(const double rtol0,const double atol0,double*y,long*count){
 const double s6=sqrt(6.0),c1=(4-s6)/10,c2=(4+s6)/10,c1m1=c1-1,c2m1=c2-1,c1mc2=c1-c2;
 const double dd1=-(13+7*s6)/3,dd2=(-13+7*s6)/3,dd3=-1.0/3;
 const double st9=cbrt(9.0);double u1=(6+st9*(st9-1))/30,al=(12-st9*(st9-1))/60,be=st9*(st9+1)*sqrt(3.0)/60;
 const double cno=al*al+be*be;u1=1/u1;al/=cno;be/=cno;
 /* the tolerance of a method whose error is of order 5 while its estimate is of order 3 */
 const double quot=atol0/rtol0,rtol=0.1*pow(rtol0,2.0/3),atol=rtol*quot,fnewt=fmax(10*2.2e-16/rtol,fmin(0.03,sqrt(rtol)));
 double J[NNZJ],L[NNZL],f0[N],sc[N],Z1[N],Z2[N],Z3[N],F1[N],F2[N],F3[N],C1[N],C2[N],C3[N],g1[N],g2[N],g3[N],w[N],ev[N],ef[N];
 cdouble JC[NNZJ],LC[NNZL],zc[N];
 double t=0,h=1e-10,hold=h,hacc=0,erracc=1,faccon=1,theta=1e-3;int first=1,reject=0,last=0,fresh=0,factored=0,newt=0;
 long ns=0,nf=0,nj=0,nl=0;
 FORN{sc[i]=atol+rtol*fabs(y[i]);C1[i]=C2[i]=C3[i]=0;}
 fun(y,f0);nf++;
 if(h>=T1){h=T1;last=1;}
 for(long tries=0;tries<1000000;tries++){
  if(!fresh&&!(theta<=1e-3)){jac(y,J);nj++;for(int k=0;k<NNZJ;k++)JC[k]=J[k];fresh=1;factored=0;}
  if(nj==0){jac(y,J);nj++;for(int k=0;k<NNZJ;k++)JC[k]=J[k];fresh=1;factored=0;}
  const double fac1=u1/h,an=al/h,bn=be/h;
  if(!factored){lu(fac1,J,L);complex_lu(an+bn*I,JC,LC);nl++;factored=1;}
  if(!(h>1e-16*fabs(t)||t==0)||h<1e-60)return -1;
  if(first){FORN Z1[i]=Z2[i]=Z3[i]=F1[i]=F2[i]=F3[i]=0;}
  else{const double c3q=h/hold,c1q=c1*c3q,c2q=c2*c3q;
   FORN{const double a=C1[i],b=C2[i],c=C3[i];
    Z1[i]=c1q*(a+(c1q-c2m1)*(b+(c1q-c1m1)*c));Z2[i]=c2q*(a+(c2q-c2m1)*(b+(c2q-c1m1)*c));Z3[i]=c3q*(a+(c3q-c2m1)*(b+(c3q-c1m1)*c));
    F1[i]=I11*Z1[i]+I12*Z2[i]+I13*Z3[i];F2[i]=I21*Z1[i]+I22*Z2[i]+I23*Z3[i];F3[i]=I31*Z1[i]+I32*Z2[i]+I33*Z3[i];}}
  newt=0;faccon=pow(fmax(faccon,2.2e-16),0.8);theta=1e-3;
  double dynold=0,thqold=0;int bad=0;double shrink=0.5;
  for(;;){
   if(newt>=7){bad=1;break;}
   FORN w[i]=y[i]+Z1[i];fun(w,g1);FORN w[i]=y[i]+Z2[i];fun(w,g2);FORN w[i]=y[i]+Z3[i];fun(w,g3);nf+=3;
   FORN{const double a=g1[i],b=g2[i],c=g3[i];
    Z1[i]=I11*a+I12*b+I13*c-fac1*F1[i];
    const double p=I21*a+I22*b+I23*c,q=I31*a+I32*b+I33*c;
    zc[i]=(p-F2[i]*an+F3[i]*bn)+(q-F3[i]*an-F2[i]*bn)*I;}
   solve(L,Z1);complex_solve(LC,zc);newt++;
   double dyno=0;FORN{const double a=Z1[i]/sc[i],b=creal(zc[i])/sc[i],c=cimag(zc[i])/sc[i];dyno+=a*a+b*b+c*c;}
   dyno=sqrt(dyno/(3*N));
   if(!(dyno<1e60)){bad=1;break;}
   if(newt>1){const double thq=dyno/dynold;theta=newt==2?thq:sqrt(thq*thqold);thqold=thq;
    if(theta<0.99){faccon=theta/(1-theta);const double dyth=faccon*dyno*pow(theta,7-1-newt)/fnewt;
     if(dyth>=1){const double qn=fmax(1e-4,fmin(20.0,dyth));shrink=0.8*pow(qn,-1.0/(4+7-1-newt));bad=1;break;}}
    else{bad=1;break;}}
   dynold=fmax(dyno,2.2e-16);
   FORN{F1[i]+=Z1[i];F2[i]+=creal(zc[i]);F3[i]+=cimag(zc[i]);
    Z1[i]=T11*F1[i]+T12*F2[i]+T13*F3[i];Z2[i]=T21*F1[i]+T22*F2[i]+T23*F3[i];Z3[i]=T31*F1[i]+F2[i];}
   if(faccon*dyno<=fnewt)break;}
  if(bad){h*=shrink;reject=1;last=0;factored=0;if(!fresh)theta=1;continue;}
  const double e1=dd1/h,e2=dd2/h,e3=dd3/h;
  FORN{ef[i]=e1*Z1[i]+e2*Z2[i]+e3*Z3[i];ev[i]=ef[i]+f0[i];}
  solve(L,ev);double err=0;FORN{const double e=ev[i]/sc[i];err+=e*e;}err=fmax(sqrt(err/N),1e-10);
  if(!(err<1)&&(first||reject)){FORN w[i]=y[i]+ev[i];fun(w,g1);nf++;FORN ev[i]=g1[i]+ef[i];solve(L,ev);err=0;FORN{const double e=ev[i]/sc[i];err+=e*e;}err=fmax(sqrt(err/N),1e-10);}
  if(!(err==err))err=1e30;
  const double fac=fmin(0.9,0.9*(1+2*7)/(newt+2*7));double q=fmax(0.125,fmin(5.0,pow(err,0.25)/fac)),hnew=h/q;
  if(err<1){first=0;ns++;
   if(ns>1){const double g=hacc/h*pow(err*err/erracc,0.25)/0.9;q=fmax(q,fmax(0.125,fmin(5.0,g)));hnew=h/q;}
   hacc=h;erracc=fmax(1e-2,err);hold=h;t+=h;
   FORN{y[i]+=Z3[i];C1[i]=(Z2[i]-Z3[i])/c2m1;const double ak=(Z1[i]-Z2[i])/c1mc2;double a3=Z1[i]/c1;a3=(ak-a3)/c2;C2[i]=(ak-C1[i])/c1m1;C3[i]=C2[i]-a3;sc[i]=atol+rtol*fabs(y[i]);}
   if(last){count[0]=ns;count[1]=nf;count[2]=nj;count[3]=nl;return 0;}
   fun(y,f0);nf++;fresh=0;
   if(reject)hnew=fmin(hnew,h);
   reject=0;
   if(t+hnew*1.0001>=T1){hnew=T1-t;last=1;}
   else{const double qt=hnew/h;if(theta<=1e-3&&qt>=1&&qt<=1.2)continue;}
   h=hnew;factored=0;}
  else{reject=1;last=0;h=first?h*0.1:hnew;factored=0;if(!fresh)theta=1;}}
 return -1;}
