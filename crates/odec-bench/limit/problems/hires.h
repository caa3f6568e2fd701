/* hires: n=8 nnzJ=25 nnzLU=27 perm=[0, 1, 2, 3, 4, 5, 6, 7] */
#define N 8
#define NNZJ 25
#define NNZL 27
#ifndef ATTR
#define ATTR static inline __attribute__((always_inline))
#endif
ATTR void fun(const double*restrict y,double*restrict d){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2]; const double y4=y[3]; const double y5=y[4]; const double y6=y[5]; const double y7=y[6]; const double y8=y[7];

 const double r=280.0*y6*y8;
 d[0]=-1.71*y1 + 0.43*y2 + 8.32*y3 + 0.0007;
 d[1]=1.71*y1 - 8.75*y2;
 d[2]=-10.03*y3 + 0.43*y4 + 0.035*y5;
 d[3]=8.32*y2 + 1.71*y3 - 1.12*y4;
 d[4]=-1.745*y5 + 0.43*(y6 + y7);
 d[5]=-r + 0.69*y4 + 1.71*y5 - 0.43*y6 + 0.69*y7;
 d[6]=r - 1.81*y7;
 d[7]=-r + 1.81*y7;
}
ATTR void jac(const double*restrict y,double*restrict J){
 const double y1=y[0]; const double y2=y[1]; const double y3=y[2]; const double y4=y[3]; const double y5=y[4]; const double y6=y[5]; const double y7=y[6]; const double y8=y[7];

 const double x_0=280.0*y8;
 const double x_1=280.0*y6;
 const double x_2=-x_1;
 J[0]=-1.71;
 J[1]=0.42999999999999999;
 J[2]=8.3200000000000003;
 J[3]=1.71;
 J[4]=-8.75;
 J[5]=-10.029999999999999;
 J[6]=0.42999999999999999;
 J[7]=0.035000000000000003;
 J[8]=8.3200000000000003;
 J[9]=1.71;
 J[10]=-1.1200000000000001;
 J[11]=-1.7450000000000001;
 J[12]=0.42999999999999999;
 J[13]=0.42999999999999999;
 J[14]=0.68999999999999995;
 J[15]=1.71;
 J[16]=-x_0 - 0.42999999999999999;
 J[17]=0.68999999999999995;
 J[18]=x_2;
 J[19]=x_0;
 J[20]=-1.8100000000000001;
 J[21]=x_1;
 J[22]=-x_0;
 J[23]=1.8100000000000001;
 J[24]=x_2;
}
ATTR void lu(double g,const double*restrict J,double*restrict L){
 double e0_0=g-J[0];
 double e0_1=-J[1];
 double e0_2=-J[2];
 double e1_0=-J[3];
 double e1_1=g-J[4];
 double e1_2=0.0;
 double e2_2=g-J[5];
 double e2_3=-J[6];
 double e2_4=-J[7];
 double e3_1=-J[8];
 double e3_2=-J[9];
 double e3_3=g-J[10];
 double e3_4=0.0;
 double e4_4=g-J[11];
 double e4_5=-J[12];
 double e4_6=-J[13];
 double e5_3=-J[14];
 double e5_4=-J[15];
 double e5_5=g-J[16];
 double e5_6=-J[17];
 double e5_7=-J[18];
 double e6_5=-J[19];
 double e6_6=g-J[20];
 double e6_7=-J[21];
 double e7_5=-J[22];
 double e7_6=-J[23];
 double e7_7=g-J[24];
 e0_0=1.0/e0_0;
 e1_0*=e0_0;
 e1_1-=e1_0*e0_1;
 e1_2-=e1_0*e0_2;
 e1_1=1.0/e1_1;
 e3_1*=e1_1;
 e3_2-=e3_1*e1_2;
 e2_2=1.0/e2_2;
 e3_2*=e2_2;
 e3_3-=e3_2*e2_3;
 e3_4-=e3_2*e2_4;
 e3_3=1.0/e3_3;
 e5_3*=e3_3;
 e5_4-=e5_3*e3_4;
 e4_4=1.0/e4_4;
 e5_4*=e4_4;
 e5_5-=e5_4*e4_5;
 e5_6-=e5_4*e4_6;
 e5_5=1.0/e5_5;
 e6_5*=e5_5;
 e6_6-=e6_5*e5_6;
 e6_7-=e6_5*e5_7;
 e7_5*=e5_5;
 e7_6-=e7_5*e5_6;
 e7_7-=e7_5*e5_7;
 e6_6=1.0/e6_6;
 e7_6*=e6_6;
 e7_7-=e7_6*e6_7;
 e7_7=1.0/e7_7;
 L[0]=e0_0;
 L[1]=e0_1;
 L[2]=e0_2;
 L[3]=e1_0;
 L[4]=e1_1;
 L[5]=e1_2;
 L[6]=e2_2;
 L[7]=e2_3;
 L[8]=e2_4;
 L[9]=e3_1;
 L[10]=e3_2;
 L[11]=e3_3;
 L[12]=e3_4;
 L[13]=e4_4;
 L[14]=e4_5;
 L[15]=e4_6;
 L[16]=e5_3;
 L[17]=e5_4;
 L[18]=e5_5;
 L[19]=e5_6;
 L[20]=e5_7;
 L[21]=e6_5;
 L[22]=e6_6;
 L[23]=e6_7;
 L[24]=e7_5;
 L[25]=e7_6;
 L[26]=e7_7;
}
ATTR void solve(const double*restrict L,double*restrict b){
 double b0=b[0];
 double b1=b[1];
 double b2=b[2];
 double b3=b[3];
 double b4=b[4];
 double b5=b[5];
 double b6=b[6];
 double b7=b[7];
 b1-=L[3]*b0;
 b3-=L[9]*b1;
 b3-=L[10]*b2;
 b5-=L[16]*b3;
 b5-=L[17]*b4;
 b6-=L[21]*b5;
 b7-=L[24]*b5;
 b7-=L[25]*b6;
 b7*=L[26]; b[7]=b7;
 b5-=L[20]*b7;
 b6-=L[23]*b7;
 b6*=L[22]; b[6]=b6;
 b4-=L[15]*b6;
 b5-=L[19]*b6;
 b5*=L[18]; b[5]=b5;
 b4-=L[14]*b5;
 b4*=L[13]; b[4]=b4;
 b2-=L[8]*b4;
 b3-=L[12]*b4;
 b3*=L[11]; b[3]=b3;
 b2-=L[7]*b3;
 b2*=L[6]; b[2]=b2;
 b0-=L[2]*b2;
 b1-=L[5]*b2;
 b1*=L[4]; b[1]=b1;
 b0-=L[1]*b1;
 b0*=L[0]; b[0]=b0;
}
/* LU ops: 8 recip, 21 mul/fma; solve ops 46 */
static const double Y0[N]={1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0057};
#define T1 321.8122
#define ASC 0.0001
#define NAME "hires"
/* where the values of jac stand */
static const int ROW[NNZJ]={0,0,0,1,1,2,2,2,3,3,3,4,4,4,5,5,5,5,5,6,6,6,7,7,7};
static const int COL[NNZJ]={0,1,2,0,1,2,3,4,1,2,3,4,5,6,3,4,5,6,7,5,6,7,5,6,7};
