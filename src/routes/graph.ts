import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { createWorkflowDocument, NODE_LIMIT, nodesFor } from './workflow.ts';

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
    return (asked) =>
      createWorkflowDocument(monitor, 'graph', asked, (tree) => {
        const { taskId, values } = asked;
        const view = monitor.graphs.observe(taskId, nodesFor(monitor, values.limit), tree);
        const { meta, nodes, edges } = monitor.serializer.graph(view.graph);
        const members = JSON.stringify({ nodes, edges }).slice(1, -1);
        const head = JSON.stringify({ ...meta, cursor: view.cursor }).slice(1, -1);
        return {
          stable: `${head}\n${members}`,
          render(moment, sources) {
            view.issue(moment);
            const generatedAt = new Date(moment).toISOString();
            return `{"meta":{${head},"generated_at":"${generatedAt}"},${members},"sources":${sources}}`;
          },
        };
      });
  },
});
