/* rober1e11: n=3 nnzJ=7 nnzLU=8 perm=[0, 1, 2] */
#define N 3
#define NNZJ 7
#define NNZL 8
#ifndef ATTR
#define ATTR static inline __attribute__((always_inline))
#endif
ATTR void fun(const double*restrict y,double*restrict d){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2];
 const double k1=0.04; const double k2=30000000.0; const double k3=10000.0;
 d[0]=-k1*y1 + k3*y2*y3;
 d[1]=k1*y1 - k3*y2*y3 - k2*y2*y2;
 d[2]=k2*y2*y2;
}
ATTR void jac(const double*restrict y,double*restrict J){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2];
 const double k1=0.04; const double k2=30000000.0; const double k3=10000.0;
 const double x_0=k3*y3;
 const double x_1=k3*y2;
 const double x_2=2*k2*y2;
 J[0]=-k1;
 J[1]=x_0;
 J[2]=x_1;
 J[3]=k1;
 J[4]=-x_0 - x_2;
 J[5]=-x_1;
 J[6]=x_2;
}
ATTR void lu(double g,const double*restrict J,double*restrict L){
 double e0_0=g-J[0];
 double e0_1=-J[1];
 double e0_2=-J[2];
 double e1_0=-J[3];
 double e1_1=g-J[4];
 double e1_2=-J[5];
 double e2_1=-J[6];
 double e2_2=g;
 e0_0=1.0/e0_0;
 e1_0*=e0_0;
 e1_1-=e1_0*e0_1;
 e1_2-=e1_0*e0_2;
 e1_1=1.0/e1_1;
 e2_1*=e1_1;
 e2_2-=e2_1*e1_2;
 e2_2=1.0/e2_2;
 L[0]=e0_0;
 L[1]=e0_1;
 L[2]=e0_2;
 L[3]=e1_0;
 L[4]=e1_1;
 L[5]=e1_2;
 L[6]=e2_1;
 L[7]=e2_2;
}
ATTR void solve(const double*restrict L,double*restrict b){
 double b0=b[0];
 double b1=b[1];
 double b2=b[2];
 b1-=L[3]*b0;
 b2-=L[6]*b1;
 b2*=L[7]; b[2]=b2;
 b0-=L[2]*b2;
 b1-=L[5]*b2;
 b1*=L[4]; b[1]=b1;
 b0-=L[1]*b1;
 b0*=L[0]; b[0]=b0;
}
/* LU ops: 3 recip, 5 mul/fma; solve ops 13 */
static const double Y0[N]={1.0,0.0,0.0};
#define T1 100000000000.0
#define ASC 1e-08
#define NAME "rober1e11"
/* where the values of jac stand */
static const int ROW[NNZJ]={0,0,0,1,1,1,2};
static const int COL[NNZJ]={0,1,2,0,1,2,1};
