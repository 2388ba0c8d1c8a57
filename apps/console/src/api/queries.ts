import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import { ActionError } from '@muster/actions/client'
import {
  infiniteQueryOptions,
  QueryCache,
  QueryClient,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from '@tanstack/react-query'
import { atMost } from '../lib/at-most.ts'
import { invoke } from './client.ts'
import { refreshOf } from './refresh.ts'

/** Queries that a grid asks for card by card and that must not take all connections of the browser. */
const TURNS: Partial<Record<ActionName, ReturnType<typeof atMost>>> = {
  projects_GetSummary: atMost(4),
  repositories_GetDetails: atMost(4),
}

/** Which query has failed with an error. */
const failed = new WeakMap<Error, string>()

/** The hash of the query that has failed with this error, which may have been asked again since. */
export function hashOfFailed(error: unknown): string | undefined {
  return error instanceof Error ? failed.get(error) : undefined
}

/** The client that holds every answer of the hub. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error, { queryHash }) => void failed.set(error, queryHash) }),
    defaultOptions: {
      // A hub on a local network answers while the browser believes itself offline.
      queries: { networkMode: 'always', retry: isWorthRetrying },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}

/** Whether a failed query may succeed a moment later: the hub did not answer or said that it is not ready. */
function isWorthRetrying(failureCount: number, error: Error): boolean {
  if (!(error instanceof ActionError)) return false
  return failureCount < 2 && [0, 502, 503, 504].includes(error.status)
}

function ask<N extends ActionName>(name: N, input: ActionInput<N>, signal: AbortSignal) {
  const run = () => invoke(name, input, { signal })
  return TURNS[name]?.(run, signal) ?? run()
}

/** Query options of an action, keyed `[name, input]`, with the polling of its row in `refresh.ts`. */
export function actionQuery<N extends ActionName>(name: N, input: ActionInput<N>) {
  const { intervalMs, staleMs } = refreshOf(name)
  return queryOptions<ActionOutput<N>>({
    queryKey: [name, input],
    queryFn: ({ signal }) => ask(name, input, signal),
    refetchInterval: intervalMs,
    staleTime: staleMs,
  })
}

/** The answer of a query; suspends until it is there and throws when the first load fails. */
export function useAction<N extends ActionName>(name: N, input: ActionInput<N>): ActionOutput<N> {
  return useSuspenseQuery(actionQuery(name, input)).data
}

/** The state of a query that never suspends; `keepPrevious` shows the last answer while another input loads. */
export function useActionState<N extends ActionName>(
  name: N,
  input: ActionInput<N>,
  { enabled = true, keepPrevious = false }: { enabled?: boolean; keepPrevious?: boolean } = {},
) {
  return useQuery({
    ...actionQuery(name, input),
    enabled,
    ...(keepPrevious && { placeholderData: (previous: ActionOutput<N> | undefined) => previous as never }),
  })
}

/** Actions that answer lists page by page. */
export type PagedActionName = {
  [N in ActionName]: ActionInput<N> extends { cursor?: string | null | undefined }
    ? ActionOutput<N> extends { nextCursor?: string | undefined }
      ? N
      : never
    : never
}[ActionName]

/** Query options of a list that grows page by page, keyed `[name, input, 'pages']`. */
export function actionPagesQuery<N extends PagedActionName>(name: N, input: Omit<ActionInput<N>, 'cursor'>) {
  const { intervalMs, staleMs } = refreshOf(name)
  return infiniteQueryOptions({
    queryKey: [name, input, 'pages'] as const,
    queryFn: ({ pageParam, signal }): Promise<ActionOutput<N>> =>
      ask(name, { ...input, ...(pageParam && { cursor: pageParam }) } as ActionInput<N>, signal),
    initialPageParam: '',
    getNextPageParam: (last: ActionOutput<N>) => (last as { nextCursor?: string }).nextCursor,
    refetchInterval: intervalMs,
    staleTime: staleMs,
  })
}

/** A list of the hub, page by page, that keeps showing the last answer while a new filter loads; never suspends. */
export function useActionPages<N extends PagedActionName>(name: N, input: Omit<ActionInput<N>, 'cursor'>) {
  return useInfiniteQuery({
    ...actionPagesQuery(name, input),
    placeholderData: (previous, query) =>
      subjectOf(query?.queryKey[1]) === subjectOf(input) ? previous : undefined,
  })
}

/** Whose list an input asks for, whatever part of it. */
function subjectOf(input: object | undefined): string {
  return JSON.stringify({ ...input, filter: 0, sort: 0 })
}

/** Ids of what this page deletes: pages that are about to be left must not ask for it again, however early its end is told. */
const gone = new Set<string>()

/** Whether a query asks about something that was deleted here. */
export function isGone([, input]: readonly unknown[]): boolean {
  return Object.values((input ?? {}) as object).some(value => gone.has(value as string))
}

/** Marks every query of these actions as out of date and refetches the ones on screen. */
export function invalidateActions(queryClient: QueryClient, names: readonly ActionName[]): Promise<void> {
  return queryClient.invalidateQueries({
    predicate: ({ queryKey }) => names.includes(queryKey[0] as ActionName) && !isGone(queryKey),
  })
}

type CommandOptions<N extends ActionName> = {
  /** Queries, by action name, that show what the command changes; they are refetched before it counts as done. */
  invalidates?: readonly ActionName[]
  /** Id of what the command deletes: nothing asks about it from then on, unless the command fails. */
  deletes?: (input: ActionInput<N>) => string
  /** Runs after success and before the refetch, for example to leave a page whose subject is gone. */
  onSuccess?: (output: ActionOutput<N>, input: ActionInput<N>) => unknown
}

/** A command as a mutation: `mutateAsync(input)` resolves when the affected queries are up to date. */
export function useCommand<N extends ActionName>(
  name: N,
  { invalidates = [], deletes, onSuccess }: CommandOptions<N> = {},
) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationKey: [name],
    mutationFn: (input: ActionInput<N>) => invoke(name, input),
    // A one-time secret must not lie in the mutation cache after its dialog is gone.
    gcTime: 0,
    onMutate: input => void (deletes && gone.add(deletes(input))),
    onError: (_error, input) => void (deletes && gone.delete(deletes(input))),
    onSuccess: async (output, input) => {
      await onSuccess?.(output, input)
      await invalidateActions(queryClient, invalidates)
    },
  })
}
