/** What queues and workers of the shop are made with. */
export function connectionTo(redisUrl) {
  return { connection: { url: redisUrl }, prefix: 'shop' };
}
