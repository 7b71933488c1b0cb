/** What happens in the shop besides its daily work. Times count from when the past begins: two hours before now. */
const MINUTE = 60_000;

/**
 * An hour of calm; then the documents back up and drain, a worker dies and comes back, and a deploy breaks payments.
 * A later one mends them, while somebody looks.
 *
 * @param {object} shop
 * @param {ReturnType<typeof import('./timeline.mjs').createTimeline>} shop.timeline
 * @param {Record<string, object>} shop.tasks what tasks do, by name; a deploy changes it
 * @param {object} shop.workers by name
 * @param {(worker: object, awayMs: number) => void} shop.crash
 * @param {(worker: object, awayMs: number) => void} shop.restart
 * @returns {{ at: Date, text: string }[]} the deploys so far
 */
export function tellStory({ timeline, tasks, workers, crash, restart }) {
  const deploys = [];
  const at = (minutes, action) => timeline.after(minutes * MINUTE, action);
  function deploy(minutes, version, changes = {}) {
    at(minutes, () => {
      deploys.push({ at: new Date(timeline.now()), text: version });
      for (const [name, change] of Object.entries(changes)) tasks[name] = { ...tasks[name], ...change };
    });
  }

  function setFails(name, fails) {
    tasks[name] = { ...tasks[name], fails };
  }

  const { fails, error } = tasks['payments.charge'];
  deploy(24, 'v410');
  deploy(55, 'v411');
  // The bank that has the exchange rates is away for a quarter of an hour: one run of the schedule or two.
  at(60, () => setFails('rates.fetch', 1));
  at(75, () => setFails('rates.fetch', 0));
  // The only worker of the documents is away for eight minutes: some 400 of them wait, and are done five minutes later.
  at(72, () => restart(workers.documents, 8 * MINUTE));
  at(89, () => crash(workers.photos, 90_000));
  deploy(98, 'v412', {
    'payments.charge': {
      fails: 0.14,
      error: "TypeError: Cannot read properties of undefined (reading 'iban')",
    },
    'invoices.render': { seconds: [1.5, 4] },
  });
  deploy(135, 'v413', { 'payments.charge': { fails, error } });
  timeline.every(47 * MINUTE, () => restart(workers.mail, 15_000));
  return deploys;
}
