/** What views ask for: the chosen source, if there are several, and the parameters that sources support. */
import type { ComponentsBody, MonitorClient, TaskListQuery } from '../../client.ts';
import type { SourceBody, TaskCapabilitiesBody } from '../../wire.ts';
import { currentRoute } from '../route.ts';
import { createStore } from '../store.ts';

/** Names of all sources in the answers so far, sorted. */
export const sourceNames = createStore<readonly string[]>([]);

/** The chosen source; `null`: all of them. */
const chosenSource = (): string | null => currentRoute.get().query.get('only');

function note(sources: readonly SourceBody[] = []): void {
  const known = sourceNames.get();
  const fresh = sources.map(({ name }) => name).filter((name) => !known.includes(name));
  if (fresh.length > 0) sourceNames.set([...known, ...fresh].toSorted());
}

/** The client, limited to the chosen source. */
export function scoped(client: MonitorClient): MonitorClient {
  return {
    ...client,
    async tasks(query, options) {
      const body = await client.tasks(ofSource(query), options);
      note(body.sources);
      return body;
    },
    eachTask: (query, options) => client.eachTask(ofSource(query), options),
    async workers(options) {
      const body = await client.workers(options);
      note(body.sources);
      return { ...body, workers: body.workers.filter(isChosen) };
    },
    async schedules(options) {
      const body = await client.schedules(options);
      note(body.sources);
      return { ...body, schedules: body.schedules.filter(isChosen) };
    },
    async components(options) {
      const body = await client.components(options?.stats === undefined ? options : ofSource(options));
      note(body.workers?.sources);
      note(body.tasks?.sources);
      return ofChosen(body);
    },
  };
}

/** A search with its own sources stays unchanged. */
function ofSource<Query extends Pick<TaskListQuery, 'source'>>(query: Query | undefined): Query | undefined {
  const source = chosenSource();
  if (source === null || query?.source !== undefined) return query;
  return { ...query, source } as Query;
}

/** Items without a source belong to all sources. */
function isChosen({ source }: { readonly source: string | null }): boolean {
  const chosen = chosenSource();
  return chosen === null || source === null || source === chosen;
}

function ofChosen(body: ComponentsBody): ComponentsBody {
  const parts = Object.entries(body).map(([key, component]) => {
    const lists = (['queues', 'findings', 'rules', 'workers'] as const).flatMap((name) => {
      const items: readonly { readonly source: string | null }[] | undefined = component[name];
      return items === undefined ? [] : [[name, items.filter(isChosen)] as const];
    });
    return [key, { ...component, ...Object.fromEntries(lists) }] as const;
  });
  return Object.fromEntries(parts);
}

/** Which parameters lists of tasks accept: an attribute of the HTML contains them, so that no view has to wait. */
const text = globalThis.document?.getElementById('app')?.dataset.capabilities;
/** `null`: everything. */
const known = text === undefined ? null : (JSON.parse(text) as TaskCapabilitiesBody);

/** Whether `/api/tasks/` accepts these parameters: a source may lack searches, or some filters. */
export function canAskFor(...parameters: readonly string[]): boolean {
  return known === null || parameters.every((name) => isAmong(known, name));
}

function isAmong({ search, filters }: TaskCapabilitiesBody, name: string): boolean {
  if (/^(?:not_)?q$/.test(name)) return search;
  return /^(?:not_)?source$/.test(name) || filters.includes(name);
}
