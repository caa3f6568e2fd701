/* orego: n=3 nnzJ=7 nnzLU=7 perm=[2, 0, 1] */
#define N 3
#define NNZJ 7
#define NNZL 7
#ifndef ATTR
#define ATTR static inline __attribute__((always_inline))
#endif
ATTR void fun(const double*restrict y,double*restrict d){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2];

 d[0]=77.27*(y2 + y1*(1.0 - 8.375e-6*y1 - y2));
 d[1]=(y3 - (1.0 + y1)*y2)/77.27;
 d[2]=0.161*(y1 - y3);
}
ATTR void jac(const double*restrict y,double*restrict J){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2];

 J[0]=-0.0012942724999999999*y1 - 77.269999999999996*y2 + 77.269999999999996;
 J[1]=77.269999999999996 - 77.269999999999996*y1;
 J[2]=-0.012941633234114146*y2;
 J[3]=-0.012941633234114146*y1 - 0.012941633234114146;
 J[4]=0.012941633234114146;
 J[5]=0.161;
 J[6]=-0.161;
}
ATTR void lu(double g,const double*restrict J,double*restrict L){
 double e0_0=g-J[6];
 double e0_1=-J[5];
 double e1_1=g-J[0];
 double e1_2=-J[1];
 double e2_0=-J[4];
 double e2_1=-J[2];
 double e2_2=g-J[3];
 e0_0=1.0/e0_0;
 e2_0*=e0_0;
 e2_1-=e2_0*e0_1;
 e1_1=1.0/e1_1;
 e2_1*=e1_1;
 e2_2-=e2_1*e1_2;
 e2_2=1.0/e2_2;
 L[0]=e0_0;
 L[1]=e0_1;
 L[2]=e1_1;
 L[3]=e1_2;
 L[4]=e2_0;
 L[5]=e2_1;
 L[6]=e2_2;
}
ATTR void solve(const double*restrict L,double*restrict b){
 double b0=b[2];
 double b1=b[0];
 double b2=b[1];
 b2-=L[4]*b0;
 b2-=L[5]*b1;
 b2*=L[6]; b[1]=b2;
 b1-=L[3]*b2;
 b1*=L[2]; b[0]=b1;
 b0-=L[1]*b1;
 b0*=L[0]; b[2]=b0;
}
/* LU ops: 3 recip, 4 mul/fma; solve ops 11 */
static const double Y0[N]={1.0,2.0,3.0};
#define T1 360.0
#define ASC 1e-06
#define NAME "orego"
/* where the values of jac stand */
static const int ROW[NNZJ]={0,0,1,1,1,2,2};
static const int COL[NNZJ]={0,1,0,1,2,0,2};
