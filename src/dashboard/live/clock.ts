import { createStore } from '../store.ts';

/** The time, told once a second while somebody looks. */
export const clock = createStore(Date.now());

const tick = (): void => {
  if (!document.hidden) clock.set(Date.now());
};
setInterval(tick, 1_000);
document.addEventListener('visibilitychange', tick);
