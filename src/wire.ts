/**
 * Every JSON body of the API, types only: the single input of `openapi.json`.
 * Every field is always present; `null` means "cannot tell".
 */

/**
 * A moment in ISO 8601, UTC, with milliseconds: `2026-11-21T02:00:00.000Z`.
 * @format date-time
 */
export type Timestamp = string;

/** One of our stable error codes, or `null`. */
export type SourceErrorCode =
	| "source_unavailable"
	| "source_timeout"
	| "source_invalid"
	| "overloaded";

/** How current one source is. */
export interface SourceBody {
	name: string;
	ok: boolean;
	/** When it was last known to be current. */
	as_of: Timestamp | null;
	error: SourceErrorCode | null;
}

/** `application/problem+json` (RFC 9457). */
export interface ProblemBody {
	type: string;
	title: string;
	/** @asType integer */
	status: number;
	detail: string;
	code: string;
	/** Every fault of the query, for `invalid_parameter`. */
	errors?: { parameter: string; detail: string }[];
}

/** Result of one check. */
export interface HealthCheckBody {
	/** `null`: not configured. */
	ok: boolean | null;
	error: string | null;
	latency_ms: number | null;
}

/** Result of the workers' check. */
export interface WorkerHealthCheckBody extends HealthCheckBody {
	responding: string[];
	missing: string[];
}

/** `GET /healthcheck` */
export interface HealthBody {
	ok: boolean;
	status: "pass" | "fail";
	checked_at: Timestamp;
	/** Checks that were left out by `checks` are absent. */
	checks: {
		broker?: HealthCheckBody;
		backend?: HealthCheckBody;
		workers?: WorkerHealthCheckBody;
	};
}

/** Waiting work of one queue. */
export interface QueueBody {
	name: string;
	/** @asType integer */
	waiting: number | null;
	/** @asType integer */
	reserved: number | null;
	/** @asType integer */
	consumers: number | null;
}

/** One component. */
export interface ComponentBody {
	name: string;
	enabled: boolean;
	status: "up" | "down" | "disabled" | "unknown";
	/** @asType integer */
	pid: number | null;
	url: string | null;
	config: { [key: string]: unknown } | null;
	queues?: QueueBody[];
}

/** `GET /api/components/` */
export interface ComponentsBody {
	[key: string]: ComponentBody;
}

/** One row of the task list. */
export interface TaskBody {
	task_id: string;
	name: string | null;
	state: string;
	worker: string | null;
	queue: string | null;
	sent: Timestamp | null;
	received: Timestamp | null;
	started: Timestamp | null;
	finished: Timestamp | null;
	/** Last change, by the sender's clock. */
	timestamp: Timestamp | null;
	done: boolean;
	/** Seconds. */
	runtime: number | null;
	args: string | null;
	kwargs: string | null;
	result: string | null;
	exception: string | null;
	traceback: string | null;
	/** @asType integer */
	retries: number | null;
	eta: Timestamp | null;
	expires: Timestamp | null;
	parent_id: string | null;
	root_id: string | null;
	group_id: string | null;
	chord_id: string | null;
	source: string;
	flags: ("worker_lost" | "overdue" | "never_received")[];
	truncated: string[];
}

/** One step of `stats.series`. */
export interface StatsStepBody {
	t: Timestamp;
	/** @asType integer */
	received: number;
	/** @asType integer */
	succeeded: number;
	/** @asType integer */
	failed: number;
	/** @asType integer */
	retried: number;
}

/** Figures of one task name. Seconds. */
export interface StatsNameBody {
	name: string;
	/** @asType integer */
	count: number;
	/** @asType integer */
	failed: number;
	runtime_p50: number | null;
	runtime_p95: number | null;
	wait_p50: number | null;
	wait_p95: number | null;
}

/** Figures over the filtered tasks of the last minutes. */
export interface TaskStatsBody {
	step_seconds: number;
	series: StatsStepBody[];
	/** Tasks per state. */
	states: { [state: string]: number };
	names: StatsNameBody[];
	workers: string[];
	queues: string[];
}

/** `GET /api/tasks/` */
export interface TasksBody {
	tasks: TaskBody[];
	next_cursor: string | null;
	/** @asType integer */
	total: number | null;
	generated_at: Timestamp;
	sources: SourceBody[];
	/** Only when asked for; `null` when the source cannot tell. */
	stats?: TaskStatsBody | null;
}

/** One change in the life of a task. */
export interface TimelineEntryBody {
	state: string;
	timestamp: Timestamp | null;
	worker: string | null;
	detail: string | null;
}

/** `GET /api/tasks/{task_id}/` */
export interface TaskDetailBody extends TaskBody {
	children: string[];
	timeline: TimelineEntryBody[];
	sources: SourceBody[];
}

/** One relation. */
export interface RelationBody {
	parent: string | null;
	child: string;
	relation: string;
}

/** `GET /api/tasks/{task_id}/relations/` */
export interface RelationsBody {
	task_id: string;
	root_id: string;
	relations: RelationBody[];
	sources: SourceBody[];
}

/** Tasks per bucket of states. */
export interface StateCountsBody {
	/** @asType integer */
	total: number;
	/** @asType integer */
	pending: number;
	/** @asType integer */
	running: number;
	/** @asType integer */
	retry: number;
	/** @asType integer */
	success: number;
	/** @asType integer */
	failure: number;
	/** @asType integer */
	revoked: number;
}

/** One node of the graph. */
export interface GraphNodeBody {
	id: string;
	task_name: string | null;
	state: string | null;
	started_at: Timestamp | null;
	finished_at: Timestamp | null;
	duration_ms: number | null;
	/** @asType integer */
	retries: number | null;
	queue: string | null;
	worker: string | null;
	args_preview: string | null;
	kwargs_preview: string | null;
	result_preview: string | null;
	/** The end of the traceback: the exception's line. */
	traceback_preview: string | null;
	stamps_preview: string | null;
	parent_id: string | null;
	root_id: string | null;
	/** `group` and `chord`: virtual nodes; `map`, `starmap`, `chunks`: real tasks of that sort. */
	kind: "group" | "chord" | "map" | "starmap" | "chunks" | null;
	/** Of virtual nodes. */
	members: StateCountsBody | null;
}

/** One edge of the graph. */
export interface GraphEdgeBody {
	/** `source->target:kind` */
	id: string;
	source: string;
	target: string;
	kind: string;
}

/** `GET /api/tasks/{task_id}/graph/` */
export interface GraphBody {
	meta: {
		root_id: string;
		generated_at: Timestamp;
		cursor: string;
		counts: StateCountsBody;
		/** @asType integer */
		node_count: number;
		/** @asType integer */
		edge_count: number;
		truncated: boolean;
	};
	nodes: GraphNodeBody[];
	edges: GraphEdgeBody[];
	sources: SourceBody[];
}

/** What may change of a node. */
export interface GraphNodeUpdateBody {
	id: string;
	state: string | null;
	duration_ms: number | null;
	/** @asType integer */
	retries: number | null;
	started_at: Timestamp | null;
	finished_at: Timestamp | null;
	worker: string | null;
	members: StateCountsBody | null;
}

/** `GET /api/tasks/{task_id}/graph/updates/` */
export interface GraphUpdatesBody {
	generated_at: Timestamp;
	cursor: string;
	node_updates: GraphNodeUpdateBody[];
	meta_counts: StateCountsBody;
	topology_changed: boolean;
	/** @asType integer */
	node_count: number;
	/** @asType integer */
	edge_count: number;
	/** True once every task of the workflow has ended. */
	complete: boolean;
	sources: SourceBody[];
}

/** One worker. */
export interface WorkerBody {
	hostname: string;
	status: "online" | "stale" | "offline";
	last_heartbeat: Timestamp | null;
	/** Whole seconds at `generated_at`. @asType integer */
	last_seen_seconds: number | null;
	/** @asType integer */
	pid: number | null;
	pool: string | null;
	/** @asType integer */
	pool_size: number | null;
	/** @asType integer */
	concurrency: number | null;
	/** @asType integer */
	active: number | null;
	/** @asType integer */
	processed: number | null;
	/** How many task names it knows. @asType integer */
	registered: number | null;
	registered_tasks: string[] | null;
	queues: string[] | null;
	software: string | null;
	load_average: number[] | null;
	uptime_seconds: number | null;
	source: string;
}

/** `GET /api/workers/` */
export interface WorkersBody {
	workers: WorkerBody[];
	generated_at: Timestamp;
	sources: SourceBody[];
}

/** One item of the feed. */
export interface EventBody {
	id: string;
	type: string;
	task: string | null;
	task_id: string | null;
	state: string | null;
	worker: string | null;
	timestamp: Timestamp | null;
	detail: string | null;
}

/** `GET /api/events/latest/` */
export interface EventsBody {
	/** Newest first. */
	events: EventBody[];
	cursor: string;
	/** Something after `since` is no longer held or was missed. */
	gap: boolean;
	generated_at: Timestamp;
	sources: SourceBody[];
}

/** One entry of a periodic schedule. */
export interface ScheduleBody {
	id: string;
	app: string | null;
	name: string;
	task: string | null;
	schedule: string | null;
	enabled: boolean | null;
	args: string | null;
	kwargs: string | null;
	queue: string | null;
	timezone: string | null;
	last_run_at: Timestamp | null;
	next_run_at: Timestamp | null;
	/** @asType integer */
	total_run_count: number | null;
	source: string;
}

/** `GET /api/beat/schedules/` */
export interface SchedulesBody {
	enabled: boolean;
	schedules: ScheduleBody[];
	sources: SourceBody[];
}
