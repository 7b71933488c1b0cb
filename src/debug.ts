import createDebug from 'debug';

const root = createDebug('express-task-monitor');

/**
 * The debug channel of one module: `DEBUG=express-task-monitor:*` shows all of them.
 *
 * @param module name behind the colon, such as `celery`
 */
export function debugChannel(module: string): (format: string, ...values: unknown[]) => void {
  return root.extend(module);
}
