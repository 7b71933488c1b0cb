import type { OnLeave } from '../read.ts';
import type { MonitorResponse } from './exchange.ts';

/** Calls listeners when the client disconnects before the response is sent. */
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

/** Identifies a client, so that long work of different clients takes turns. */
export function clientOf(response: MonitorResponse): string | undefined {
  return response.socket?.remoteAddress;
}
