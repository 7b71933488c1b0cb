const DELAYED = /(?:^|_)celery_delayed_\d{1,2}$/;

/** Whether this is an exchange or queue in which kombu delays messages until their eta, whatever its prefix. */
export function isDelayedName(name: string): boolean {
  return DELAYED.test(name);
}
