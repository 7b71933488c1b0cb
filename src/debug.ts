import createDebug from 'debug';

const root = createDebug('express-task-monitor');

/**
 * Creates the debug channel of one module. `DEBUG=express-task-monitor:*` shows all channels.
 *
 * @param module name after the colon, such as `celery`
 * @returns prints a message in the format of `util.format`; does nothing while the channel is off
 */
export function debugChannel(module: string): (format: string, ...values: unknown[]) => void {
  return root.extend(module);
}
