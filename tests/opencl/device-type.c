// Prints the types that the device is found by, and the one that it reports.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
  const cl_device_type kinds[] = {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_DEFAULT, CL_DEVICE_TYPE_ALL};
  cl_platform_id platform;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 1;
  for (int i = 0; i < 5; i++) {
    cl_device_id device;
    cl_int code = clGetDeviceIDs(platform, kinds[i], 1, &device, NULL), of_context;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_context context = clCreateContextFromType(properties, kinds[i], NULL, NULL, &of_context);
    if (code != of_context || (context == NULL) != (code != CL_SUCCESS)) return 2;
    cl_device_type found = 0;
    if (code == CL_SUCCESS && clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof found, &found, NULL) != CL_SUCCESS) return 3;
    printf("%d ", code == CL_SUCCESS ? (int)found : -1);
    if (context != NULL) clReleaseContext(context);
  }
  return 0;
}
