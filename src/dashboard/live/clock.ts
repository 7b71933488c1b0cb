import { createStore } from '../store.ts';

/** The current time, updated once a second while the tab is visible. */
export const clock = createStore(Date.now());

const tick = (): void => {
  if (!document.hidden) clock.set(Date.now());
};
setInterval(tick, 1_000);
document.addEventListener('visibilitychange', tick);
