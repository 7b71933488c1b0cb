/** A workflow that fails. */
import { memorySources } from '../../src/memory.ts';

export const LONG =
  'warehouse.billing.invoices.importers.quarterly.render_and_send_all_documents_of_every_customer';

/** An order whose payment fails, with a group of many, a task that comes minutes later, and a chord that never ran. */
export function createOrder(rows = 40) {
  const queue = memorySources({ name: 'shop', retention: { maxTasks: 50_000 } });
  const start = Date.now() - 20 * 60_000;
  function run(id: string, name: string, from: number, ran: number, more: object = {}, state = 'SUCCESS') {
    const task = { id, name, queue: 'orders', worker: 'w1@host', rootId: 'order', ...more };
    queue.record({ ...task, state: 'PENDING', timestamp: start + from });
    queue.record({ ...task, state: 'STARTED', timestamp: start + from + 200 });
    const error = Object.assign(new Error('insufficient funds'), { name: 'CardDeclined' });
    const end = state === 'FAILURE' ? { error } : { result: 1 };
    queue.record({ ...task, ...end, state, timestamp: start + from + 200 + ran });
  }
  const parentId = 'order';
  run('order', 'orders.place', 0, 900);
  run('pay', 'payments.charge', 400, 1_600, { parentId }, 'FAILURE');
  for (let index = 0; index < rows; index += 1) {
    const isBad = index === rows - 1;
    const more = { parentId, groupId: 'rows', chordId: 'sum' };
    run(`row-${index}`, 'import.row', 500 + index, isBad ? 2_500 : 700, more, isBad ? 'FAILURE' : 'SUCCESS');
  }
  run('late', LONG, 9 * 60_000, 500, { parentId });
  return { queue, options: { sources: queue }, start };
}
