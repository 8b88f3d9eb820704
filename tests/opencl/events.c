// Queues and events: order, wait lists, user events, callbacks, profiling, markers and barriers, from many threads.
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char *source =
    "kernel void step(global int *a, int factor, int plus) { size_t i = get_global_id(0); a[i] = a[i] * factor + plus; }\n";

static atomic_int reported[4];
static void CL_CALLBACK on_status(cl_event event, cl_int status, void *data) {
  (void)event;
  if (status == *(int *)data) atomic_fetch_add(&reported[status < 0 ? 3 : status], 1);
}

static void CL_CALLBACK native(void *arguments) {
  struct {
    int *memory;
    int value;
  } *of = arguments;
  of->memory[0] += of->value;
}

static void order(struct setting s, cl_kernel step, int in_order) {
  cl_int error, status;
  int data[8] = {0};
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  CHECK(clSetKernelArg(step, 0, sizeof memory, &memory));
  size_t global = 8;
  cl_event gate = clCreateUserEvent(s.context, &error), last = gate;
  CHECK(error);
  cl_event chain[20];
  // x -> 2x + 1, twenty times, after a gate: each waits for the one before it by its list, or by the queue.
  for (int i = 0; i < 20; i++) {
    int factor = 2, plus = 1;
    CHECK(clSetKernelArg(step, 1, sizeof factor, &factor));
    CHECK(clSetKernelArg(step, 2, sizeof plus, &plus));
    int lists = !in_order || i == 0;
    CHECK(clEnqueueNDRangeKernel(s.queue, step, 1, NULL, &global, NULL, lists, lists ? &last : NULL, &chain[i]));
    last = chain[i];
  }
  static int complete = CL_COMPLETE, running = CL_RUNNING;
  CHECK(clSetEventCallback(chain[19], CL_COMPLETE, on_status, &complete));
  CHECK(clSetEventCallback(chain[19], CL_RUNNING, on_status, &running));
  usleep(20000);
  EXPECT(data[0] == 0);
  CHECK(clGetEventInfo(chain[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  EXPECT(status == CL_SUBMITTED || status == CL_QUEUED);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CODE(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
  CODE(clSetUserEventStatus(chain[0], CL_COMPLETE), CL_INVALID_EVENT);
  CHECK(clWaitForEvents(1, &chain[19]));
  for (int i = 0; i < 8; i++) EXPECT(data[i] == (1 << 20) - 1);
  cl_ulong times[4];
  const cl_profiling_info names[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START,
                                     CL_PROFILING_COMMAND_END};
  for (int i = 0; i < 4; i++) {
    CHECK(clGetEventProfilingInfo(chain[19], names[i], sizeof times[i], &times[i], NULL));
    EXPECT(i == 0 || times[i] >= times[i - 1]);
  }
  CODE(clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END, sizeof times[0], times, NULL), CL_PROFILING_INFO_NOT_AVAILABLE);
  cl_command_type type;
  CHECK(clGetEventInfo(chain[0], CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  EXPECT(type == CL_COMMAND_NDRANGE_KERNEL);
  for (int i = 0; i < 20; i++) CHECK(clReleaseEvent(chain[i]));
  CHECK(clReleaseEvent(gate));

  // What waits for something that failed fails, and what comes after it only does not.
  gate = clCreateUserEvent(s.context, &error);
  CHECK(error);
  cl_event failing[2], behind;
  CHECK(clEnqueueNDRangeKernel(s.queue, step, 1, NULL, &global, NULL, 1, &gate, &failing[0]));
  CHECK(clEnqueueNDRangeKernel(s.queue, step, 1, NULL, &global, NULL, 1, &failing[0], &failing[1]));
  CHECK(clEnqueueMarkerWithWaitList(s.queue, 0, NULL, &behind));
  static int failed = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  CHECK(clSetEventCallback(failing[1], CL_COMPLETE, on_status, &failed));
  int before = data[0];
  CHECK(clSetUserEventStatus(gate, -77));
  CODE(clWaitForEvents(1, &failing[1]), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(clGetEventInfo(gate, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  EXPECT(status == -77);
  CHECK(clWaitForEvents(1, &behind));
  EXPECT(data[0] == before);
  CHECK(clReleaseEvent(gate));
  CHECK(clReleaseEvent(failing[0]));
  CHECK(clReleaseEvent(failing[1]));
  CHECK(clReleaseEvent(behind));

  // Barriers part what comes before from what comes after.
  for (int i = 0; i < 10; i++) {
    int zero = 0, value = i, back[8];
    CHECK(clEnqueueFillBuffer(s.queue, memory, &zero, sizeof zero, 0, sizeof data, 0, NULL, NULL));
    CHECK(clEnqueueBarrierWithWaitList(s.queue, 0, NULL, NULL));
    CHECK(clSetKernelArg(step, 2, sizeof value, &value));
    CHECK(clEnqueueNDRangeKernel(s.queue, step, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clEnqueueBarrier(s.queue));
    CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
    for (int j = 0; j < 8; j++) EXPECT(back[j] == i);
  }
  struct {
    void *memory;
    int value;
  } arguments = {NULL, 5};
  const void *place = &arguments.memory;
  CHECK(clEnqueueNativeKernel(s.queue, native, &arguments, sizeof arguments, 1, &memory, &place, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  EXPECT(data[0] == 14);
  CHECK(clReleaseMemObject(memory));
}

struct job {
  struct setting s;
  cl_program program;
  int seed;
};

static void *work(void *data) {
  struct job *job = data;
  cl_int error;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, job->seed % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, 0};
  cl_command_queue queue = clCreateCommandQueueWithProperties(job->s.context, job->s.device, list, &error);
  CHECK(error);
  cl_kernel step = clCreateKernel(job->program, "step", &error);
  CHECK(error);
  for (int round = 0; round < 20; round++) {
    int data[64], factor = 3, plus = job->seed + round;
    for (int i = 0; i < 64; i++) data[i] = i;
    cl_mem memory = clCreateBuffer(job->s.context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
    CHECK(error);
    CHECK(clSetKernelArg(step, 0, sizeof memory, &memory));
    CHECK(clSetKernelArg(step, 1, sizeof factor, &factor));
    CHECK(clSetKernelArg(step, 2, sizeof plus, &plus));
    size_t global = 64;
    cl_event done;
    CHECK(clEnqueueNDRangeKernel(queue, step, 1, NULL, &global, NULL, 0, NULL, &done));
    CHECK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof data, data, 1, &done, NULL));
    for (int i = 0; i < 64; i++) EXPECT(data[i] == 3 * i + plus);
    CHECK(clReleaseEvent(done));
    CHECK(clReleaseMemObject(memory));
  }
  CHECK(clReleaseKernel(step));
  CHECK(clReleaseCommandQueue(queue));
  return NULL;
}

int main(void) {
  cl_int error;
  for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
    struct setting s = start(CL_QUEUE_PROFILING_ENABLE | (out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
    cl_program program = build(s, source, NULL);
    cl_kernel step = clCreateKernel(program, "step", &error);
    CHECK(error);
    order(s, step, !out_of_order);
    pthread_t threads[8];
    struct job jobs[8];
    for (int i = 0; i < 8; i++) {
      jobs[i] = (struct job){s, program, i};
      EXPECT(!pthread_create(&threads[i], NULL, work, &jobs[i]));
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    // A long chain after an event that nobody ever sets.
    cl_event gate = clCreateUserEvent(s.context, &error);
    CHECK(error);
    for (int i = 0; i < 20000; i++) CHECK(clEnqueueBarrierWithWaitList(s.queue, i == 0, i == 0 ? &gate : NULL, NULL));
    CHECK(clReleaseEvent(gate));
    CHECK(clFinish(s.queue));
    CHECK(clReleaseKernel(step));
    CHECK(clReleaseProgram(program));
    end(s);
  }
  for (int tries = 0; tries < 200 && (reported[CL_COMPLETE] < 2 || reported[3] < 2); tries++) usleep(10000);
  EXPECT(reported[CL_COMPLETE] == 2 && reported[CL_RUNNING] == 2 && reported[3] == 2);
  return passed();
}
