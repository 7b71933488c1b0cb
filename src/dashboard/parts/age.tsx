import type { SourceBody } from '../../wire.ts';
import { clock } from '../live/clock.ts';
import { useStore } from '../store.ts';
import { millis } from '../text/moments.ts';
import { duration } from '../text/numbers.ts';

const WHY: Readonly<Record<string, string>> = {
  source_unavailable: 'does not answer',
  source_timeout: 'does not answer in time',
  source_invalid: 'returned invalid data',
  overloaded: 'receives too many requests',
};

/** Data is read again within this time, so a smaller age says nothing. */
const USUAL_MS = 20_000;

/** Shows the age of the displayed data, if it is unusual. */
export function Age({ at }: { readonly at: number | null }) {
  const now = useStore(clock);
  const ms = now - (at ?? now);
  if (ms <= USUAL_MS) return null;
  const isOld = ms > 60_000;
  return (
    <span class={isOld ? 'small-text age tone-retry' : 'small-text age'} title="When this data was last read">
      {duration(Math.floor(ms / 1_000) * 1_000)} ago
    </span>
  );
}

/** Lists the sources with stale data, each with the reason and the age of its data. */
export function Sources({ sources }: { readonly sources: readonly SourceBody[] | undefined }) {
  const away = (sources ?? []).filter(({ ok }) => !ok);
  if (away.length === 0) return null;
  return (
    <div class="notice tone-retry" role="status">
      <div>
        {away.map(({ name, error, as_of }) => (
          <div key={name}>
            <b>{name}</b> {WHY[error ?? ''] ?? 'is not up to date'}; its data is <DataAge at={as_of} />.
          </div>
        ))}
      </div>
    </div>
  );
}

function DataAge({ at }: { readonly at: string | null }) {
  const now = useStore(clock);
  const value = millis(at);
  if (value === null) return <>missing</>;
  const ms = Math.max(0, Math.floor((now - value) / 1_000) * 1_000);
  return <>{duration(ms).replace('.0', '')} old</>;
}
