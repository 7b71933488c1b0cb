import { feed, MOST_LISTED } from '../live/feed.ts';
import { Ago } from '../parts/moment.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { useHeldValue } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo, taskLink } from '../route.ts';
import { useStore } from '../store.ts';

/** The latest events, newest first. */
export function Activity() {
  const { events: latest, available } = useStore(feed);
  const { isHeld, pointer, focus } = useHold();
  const events = useHeldValue(latest, isHeld);
  return (
    <section class="panel">
      <h2>Live activity</h2>
      {!available && <p class="dim">The app has configured no event feed for this monitor.</p>}
      {available && events.length === 0 && <p class="dim">Nothing has happened yet.</p>}
      <ul class="activity" {...pointer} {...focus}>
        {events.slice(0, MOST_LISTED).map((event) => (
          <li key={event.id}>
            <StateBadge state={event.state ?? event.type.replace(/^worker-/, '')} />
            {event.task_id === null ? (
              <a href={linkTo('workers')}>{event.worker ?? event.type}</a>
            ) : (
              <a href={taskLink(event.task_id)}>{event.task ?? event.task_id}</a>
            )}
            <span class="dim activity-detail">{event.detail ?? ''}</span>
            <span class="dim num">
              <Ago at={event.timestamp} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
