export type { MemoryRecord } from './sources/memory/memory-record.ts';
export {
  type MemoryQueueRecord,
  type MemorySources,
  type MemorySourcesOptions,
  type MemoryWorkerRecord,
  memorySources,
} from './sources/memory/memory-sources.ts';
