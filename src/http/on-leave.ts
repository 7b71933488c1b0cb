import type { OnLeave } from '../read.ts';
import type { MonitorResponse } from './exchange.ts';

/** Whether the client has disconnected. A response of HTTP/2 has no `destroyed`, but its stream does. */
export function isGone(
  response: MonitorResponse & { readonly stream?: { readonly destroyed: boolean } },
): boolean {
  return response.destroyed || response.stream?.destroyed === true;
}

/** Calls listeners when the client disconnects before the response is sent. */
export function onLeave(response: MonitorResponse): OnLeave {
  return (listener) => {
    if (isGone(response)) {
      listener();
      return () => {};
    }
    response.once('close', listener);
    return () => void response.off('close', listener);
  };
}
