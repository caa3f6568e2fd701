/* vdp: n=2 nnzJ=3 nnzLU=4 perm=[0, 1] */
#define N 2
#define NNZJ 3
#define NNZL 4
#ifndef ATTR
#define ATTR static inline __attribute__((always_inline))
#endif
ATTR void fun(const double*restrict y,double*restrict d){
 const double y1=y[0]; const double y2=y[1];

 d[0]=y2;
 d[1]=1000.0*(1.0 - y1*y1)*y2 - y1;
}
ATTR void jac(const double*restrict y,double*restrict J){
 const double y1=y[0]; const double y2=y[1];

 J[0]=1;
 J[1]=-2000.0*y1*y2 - 1;
 J[2]=1000.0 - 1000.0*(y1*y1);
}
ATTR void lu(double g,const double*restrict J,double*restrict L){
 double e0_0=g;
 double e0_1=-J[0];
 double e1_0=-J[1];
 double e1_1=g-J[2];
 e0_0=1.0/e0_0;
 e1_0*=e0_0;
 e1_1-=e1_0*e0_1;
 e1_1=1.0/e1_1;
 L[0]=e0_0;
 L[1]=e0_1;
 L[2]=e1_0;
 L[3]=e1_1;
}
ATTR void solve(const double*restrict L,double*restrict b){
 double b0=b[0];
 double b1=b[1];
 b1-=L[2]*b0;
 b1*=L[3]; b[1]=b1;
 b0-=L[1]*b1;
 b0*=L[0]; b[0]=b0;
}
/* LU ops: 2 recip, 2 mul/fma; solve ops 6 */
static const double Y0[N]={2.0,0.0};
#define T1 2000.0
#define ASC 0.001
#define NAME "vdp"
/* where the values of jac stand */
static const int ROW[NNZJ]={0,1,1};
static const int COL[NNZJ]={1,0,1};
