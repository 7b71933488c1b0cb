/** Loaded before a host: its monotonic clock jumps by the milliseconds that the test sends. */
let ahead = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + ahead;
process.on('message', (ms) => {
  ahead += ms;
});
// The host ends as if nobody listened to it.
process.channel?.unref();

// What is looked at every 15 seconds, such as the age of streams, is due soon after a jump.
const every = globalThis.setInterval;
globalThis.setInterval = (work, ms, ...values) => every(work, ms === 15_000 ? 100 : ms, ...values);
