import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesBelow, statementsOf } from './source-files.ts';

/** Every public name of each entry. A name that comes or goes is seen here, and in the CHANGELOG. */
const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  'src/index.ts': [
    'Activity',
    'Authorize',
    'Awaitable',
    'Comparison',
    'Component',
    'ComponentSource',
    'ConditionFigure',
    'ConditionText',
    'DashboardLink',
    'DashboardOptions',
    'DurationFigures',
    'DurationKind',
    'FigureCondition',
    'GrowingQueue',
    'HealthCheck',
    'HealthOptions',
    'HealthSource',
    'HistogramBucket',
    'HistorySource',
    'HistoryStats',
    'LimitOptions',
    'LinkedTask',
    'Marker',
    'Markers',
    'MetricsOptions',
    'MinuteCounts',
    'MonitorError',
    'MonitorErrorCode',
    'MonitorErrorContext',
    'MonitorOptions',
    'MonitorRouter',
    'MonitorSources',
    'OnError',
    'OpenTaskSummary',
    'ParameterFault',
    'Queue',
    'QueueDepths',
    'QueueSource',
    'ReadContext',
    'RedactFunction',
    'RedactOptions',
    'Refusal',
    'RouteName',
    'RunningTask',
    'Schedule',
    'ScheduleRun',
    'ScheduleSource',
    'SignInRedirect',
    'SilentWorker',
    'SourcePart',
    'SourceStatus',
    'StatsTotals',
    'Task',
    'TaskAttempt',
    'TaskCaller',
    'TaskChangeEntry',
    'TaskCondition',
    'TaskCounts',
    'TaskDetail',
    'TaskEvent',
    'TaskEventPage',
    'TaskEventQuery',
    'TaskEventSource',
    'TaskFlag',
    'TaskGroup',
    'TaskLink',
    'TaskLinks',
    'TaskLog',
    'TaskPage',
    'TaskPosition',
    'TaskProgress',
    'TaskQuery',
    'TaskRelation',
    'TaskRelationKind',
    'TaskSort',
    'TaskSource',
    'TaskState',
    'TaskStats',
    'TaskStatsQuery',
    'TaskTextField',
    'TaskTree',
    'TextCondition',
    'Worker',
    'WorkerHealthCheck',
    'WorkerSource',
    'WorkerStatus',
    'combineSources',
    'createMonitorRouter',
    'passesConditions',
    'selectTasks',
    'summarizeTasks',
  ],
  'src/client.ts': [
    'ComponentBody',
    'ComponentsBody',
    'EventBody',
    'EventQuery',
    'EventsBody',
    'FindingBody',
    'GraphBody',
    'GraphEdgeBody',
    'GraphNodeBody',
    'GraphNodeUpdateBody',
    'GraphQuery',
    'GraphState',
    'GraphUpdatesBody',
    'HealthBody',
    'HealthCheckBody',
    'Integer',
    'MarkerBody',
    'MonitorClient',
    'MonitorClientError',
    'MonitorClientOptions',
    'ProblemBody',
    'QueueBody',
    'RelationBody',
    'RelationsBody',
    'RuleBody',
    'RunningTaskBody',
    'ScheduleBody',
    'ScheduleRunBody',
    'SchedulesBody',
    'SourceBody',
    'SourceErrorCode',
    'StateCountsBody',
    'StatsBucketBody',
    'StatsCallerBody',
    'StatsCauseBody',
    'StatsNameBody',
    'StatsQueueBody',
    'StatsStepBody',
    'StatsTotalsBody',
    'TaskAttemptBody',
    'TaskBody',
    'TaskDetailBody',
    'TaskLinkBody',
    'TaskListQuery',
    'TaskLogBody',
    'TaskMatchBody',
    'TaskProgressBody',
    'TaskStatsBody',
    'TasksBody',
    'TimelineEntryBody',
    'Timestamp',
    'UnassignedTasksBody',
    'WatchOptions',
    'WorkerBody',
    'WorkerHealthCheckBody',
    'WorkersBody',
    'applyGraphUpdates',
    'createMonitorClient',
  ],
  'src/bullmq.ts': ['BullMQQueue', 'BullMQSources', 'BullMQSourcesOptions', 'bullmqSources'],
  'src/celery.ts': [
    'CeleryRedisClient',
    'CeleryRedisConnection',
    'CelerySettings',
    'CelerySources',
    'CelerySourcesOptions',
    'CelerySqlOptions',
    'CelerySqlQuery',
    'CelerySqlTable',
    'CeleryTransportOptions',
    'RedisListener',
    'celerySources',
  ],
  'src/memory.ts': [
    'MemoryQueueRecord',
    'MemoryRecord',
    'MemorySources',
    'MemorySourcesOptions',
    'MemoryWorkerRecord',
    'RetentionOptions',
    'memorySources',
  ],
  'src/sqlite.ts': ['HistoryStore', 'SqliteStoreOptions', 'StoreRetentionOptions', 'sqliteStore'],
  'src/postgres.ts': [
    'HistoryStore',
    'PgPool',
    'PostgresJs',
    'PostgresSchemaOptions',
    'PostgresStoreOptions',
    'StoreRetentionOptions',
    'postgresSchema',
    'postgresStore',
  ],
  'src/testing.ts': ['ContractPart', 'ContractSetup', 'SourceCase', 'SourceUnderTest', 'sourceContract'],
};

const files = filesBelow('src');

function namesOf(path: string): string[] {
  const file = files.find((candidate) => candidate.path === path);
  return (file ? statementsOf(file) : [])
    .flatMap((statement) =>
      ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map((element) => element.name.text)
        : [],
    )
    .toSorted();
}

/** Exported declarations of a file, with whether a TSDoc comment stands above. */
function declarationsOf(path: string): Map<string, boolean> {
  const file = files.find((candidate) => candidate.path === path);
  const documented = new Map<string, boolean>();
  for (const statement of file ? statementsOf(file) : []) {
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map((declaration) => declaration.name)
      : [(statement as ts.DeclarationStatement).name];
    const has = ts.getJSDocCommentsAndTags(statement).length > 0;
    for (const name of names) {
      if (name && ts.isIdentifier(name)) documented.set(name.text, has || documented.get(name.text) === true);
    }
  }
  return documented;
}

describe('the public names', () => {
  it.each(Object.entries(PUBLIC))('of %s are these', (path, names) => {
    expect(namesOf(path)).toEqual(names);
  });

  it.each(Object.keys(PUBLIC))('of %s are each told what they mean', (path) => {
    const file = files.find((candidate) => candidate.path === path);
    const origins = (file ? statementsOf(file) : []).flatMap((statement) =>
      ts.isExportDeclaration(statement) &&
      statement.moduleSpecifier &&
      ts.isStringLiteral(statement.moduleSpecifier)
        ? [statement.moduleSpecifier.text.replace('./', 'src/')]
        : [],
    );
    const declarations = new Map(origins.flatMap((origin) => [...declarationsOf(origin)]));
    expect(namesOf(path).filter((name) => declarations.get(name) === false)).toEqual([]);
  });

  it('export nothing but names of other files', () => {
    for (const path of Object.keys(PUBLIC)) {
      const file = files.find((candidate) => candidate.path === path);
      expect(file && statementsOf(file).every(ts.isExportDeclaration), path).toBe(true);
    }
  });
});
