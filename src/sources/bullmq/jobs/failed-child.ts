/** Whether BullMQ has given this reason to a parent whose child failed (bullmq, moveChildFromDependenciesIfNeeded). */
export function isOfChild(failedReason: string | undefined): boolean {
  return /^child [^:]+:.+ failed$/s.test(failedReason ?? '');
}
