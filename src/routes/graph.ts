import type { AnswerContent } from '../http/answer-entry.ts';
import { createDocument } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { contentOfParts } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { Workflow } from '../http/workflow.ts';
import type { Steps } from '../scheduler.ts';
import { toJson } from '../serialize.ts';
import { listedIn, NODE_LIMIT, nodesFor, workflowDocument } from './workflow.ts';

/** `GET /api/tasks/{task_id}/graph/` */
export const graph = defineRoute({
  name: 'graph',
  path: '/api/tasks/{task_id}/graph/',
  summary: 'The workflow of a task as nodes and edges',
  query: { limit: NODE_LIMIT },
  body: 'GraphBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    return (asked) => {
      const limit = nodesFor(monitor, asked.values.limit);
      const options = workflowDocument(monitor, 'graph', asked, {
        isAnyTask: false,
        needs: ({ view }) => ['nodes', Math.min(limit, view.graph.nodes.length)],
        content: (workflow) => contentFor(monitor, workflow, limit),
      });
      return createDocument(monitor, options);
    };
  },
});

function* contentFor({ serializer }: Monitor, workflow: Workflow, limit: number): Steps<AnswerContent> {
  const { view, nodes } = workflow;
  const { nodeCount, edgeCount, isTruncated } = listedIn(workflow, limit);
  const meta = JSON.stringify({
    root_id: serializer.id(view.graph.rootId),
    counts: serializer.counts(view.graph.counts),
    node_count: nodeCount,
    edge_count: edgeCount,
    truncated: isTruncated,
    cursor: view.cursor(limit),
  }).slice(1, -1);
  const shownNodes = yield* nodes.first(nodeCount);
  const { edges } = view.graph.shape;
  const listed = edgeCount === edges.length ? edges : edges.filter((edge) => edge.limit <= limit);
  const shownEdges = yield* toJson(listed, (edge) => JSON.stringify(serializer.graphEdge(edge)));
  return yield* contentOfParts({
    covers: meta,
    parts: ['"nodes":[', ...shownNodes, '],"edges":[', ...shownEdges, '],'],
    around(generatedAt) {
      view.issue(generatedAt, limit);
      return [`{"meta":{${meta},"generated_at":"${new Date(generatedAt).toISOString()}"},`, ''];
    },
  });
}
