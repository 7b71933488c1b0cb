import { Moment } from '../parts/moment.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { type Facts, timesText } from './words.ts';

/** All details of the active row, below the waterfall. */
export function Strip({ facts, now }: { readonly facts: Facts; readonly now: number }) {
  const { name, node, state } = facts;
  const times = timesText(facts, now);
  return (
    <section class="wf-strip" aria-label="Selected row">
      <strong class="wrap">{name}</strong>
      {node?.state == null || facts.isFaded ? (
        <span class="dim">{state}</span>
      ) : (
        <StateBadge state={node.state} engineState={node.engine_state} />
      )}
      {node?.sent_at != null && (
        <span>
          sent <Moment at={node.sent_at} />
        </span>
      )}
      {times !== '' && <span>{times}</span>}
      {node?.worker != null && <span class="dim wrap">{node.worker}</span>}
      {node?.queue != null && <span class="dim wrap">{`queue ${node.queue}`}</span>}
      {node?.traceback_preview != null && !facts.isFaded && (
        <span class="wf-error wrap">{node.traceback_preview}</span>
      )}
    </section>
  );
}
