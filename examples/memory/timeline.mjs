/**
 * A clock with an agenda. An hour of the past is played at once; then the same code continues in real time.
 *
 * @param {number} start milliseconds since 1970
 */
export function createTimeline(start) {
  const agenda = [];
  let now = start;

  function at(time, action) {
    let place = agenda.length;
    while (place > 0 && agenda[place - 1].time > time) place -= 1;
    agenda.splice(place, 0, { time, action });
  }

  return {
    /** The moment that is being played. */
    now: () => now,
    after: (ms, action) => at(now + ms, action),
    every(ms, action) {
      const step = () => {
        action();
        at(now + ms, step);
      };
      at(now + ms, step);
    },
    /** Does everything that is due by then, each thing at its own moment. */
    playUntil(time) {
      while (agenda.length > 0 && agenda[0].time <= time) {
        const { time: due, action } = agenda.shift();
        now = due;
        action();
      }
      now = time;
    },
    /** Postpones future events: after a laptop has slept, the lost time is not replayed. */
    postpone(ms) {
      for (const entry of agenda) entry.time += ms;
      now += ms;
    },
  };
}
