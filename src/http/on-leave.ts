import type { OnLeave } from '../read.ts';
import type { MonitorResponse } from './exchange.ts';

/** Tells when the client of a response goes away before it is answered. */
export function onLeave(response: MonitorResponse): OnLeave {
  return (listener) => {
    if (response.destroyed) {
      listener();
      return () => {};
    }
    response.once('close', listener);
    return () => void response.off('close', listener);
  };
}
