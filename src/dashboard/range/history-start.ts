import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';

/** Something that happened to the deployment, such as the start of a new version. */
export interface Marker {
  readonly at: string;
  readonly text: string;
  readonly url: string | null;
}

/** How far back there is anything to see. */
export interface HistoryStart {
  /** In milliseconds since 1970; `null` if it is not known. */
  readonly at: number | null;
  /** Whether a store keeps counts for longer than tasks. */
  readonly isKept: boolean;
  /** Newest first. */
  readonly markers: readonly Marker[];
}

const UNKNOWN: HistoryStart = { at: null, isKept: false, markers: [] };

/** Asks how far back the history reaches, and for the markers. */
export function useHistoryStart(): HistoryStart {
  const { data } = useResource('history-start', read, { every: 60_000 });
  return data ?? UNKNOWN;
}

async function read(signal: AbortSignal): Promise<HistoryStart> {
  const [components, { stats }] = await Promise.all([
    client.components({ signal }),
    client.tasks({ limit: 0, stats: 1 }, { signal }),
  ]);
  const since = components.history?.config?.since;
  const isKept = stats?.computed_from !== undefined;
  const starts = [since, stats?.counted_since].flatMap((text) =>
    typeof text === 'string' ? [Date.parse(text)] : [],
  );
  const { markers = [] } = (stats ?? {}) as { markers?: readonly Marker[] };
  return {
    at: starts.length === 0 ? null : Math.min(...starts),
    isKept,
    markers: markers.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)),
  };
}
