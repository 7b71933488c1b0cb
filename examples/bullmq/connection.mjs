/** The options of the shop's queues and workers. */
export function connectionTo(redisUrl) {
  return { connection: { url: redisUrl }, prefix: 'shop' };
}
