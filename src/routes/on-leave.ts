import type { Response } from 'express';
import type { OnLeave } from '../read.ts';

/** Tells when the client of a response goes away before it is answered. */
export function onLeave(response: Response): OnLeave {
  return (listener) => {
    if (response.destroyed) {
      listener();
      return () => {};
    }
    response.once('close', listener);
    return () => void response.off('close', listener);
  };
}
