import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import { ActionError } from '@muster/actions/client'
import {
  infiniteQueryOptions,
  type Query,
  QueryCache,
  QueryClient,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from '@tanstack/react-query'
import { forgetCounts } from '../lib/counts-key.ts'
import { invoke } from './client.ts'
import { refreshOf } from './refresh.ts'

/** Runs the request of a query, immediately or when a limit allows it. */
type QueryLimits = <T>(name: ActionName, run: () => Promise<T>, signal: AbortSignal) => Promise<T>

let limited: QueryLimits = (_name, run) => run()

/** Sets the limits of queries. Only signed-in pages set them (`app/query-limits.ts`), which keeps the code of the sign-in page small. */
export function setQueryLimits(limits: QueryLimits) {
  limited = limits
}

/** Maps the error of a failed query to the hash of the query. */
const failed = new WeakMap<Error, string>()

/** The hash of the query that failed with this error, with which an error message can find out whether the query has succeeded since. */
export function hashOfFailed(error: unknown): string | undefined {
  return error instanceof Error ? failed.get(error) : undefined
}

/** Creates the query client, the cache of all answers of the hub. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, { queryHash }) => {
        failed.set(error, queryHash)
        if (error instanceof ActionError && error.status === 401) forgetCounts()
      },
    }),
    defaultOptions: {
      // A hub on the local network answers even while the browser reports that it is offline, so requests must not wait
      // for `online`.
      queries: { networkMode: 'always', retry: isWorthRetrying },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}

/** Whether to retry a failed query: up to twice if the hub did not answer (status 0) or is unavailable (502, 503, 504). */
function isWorthRetrying(failureCount: number, error: Error): boolean {
  if (!(error instanceof ActionError)) return false
  return failureCount < 2 && [0, 502, 503, 504].includes(error.status)
}

/** Maximum time for which queries are held back, in milliseconds. */
const MAX_HOLD_MS = 15_000

let held: { promise: Promise<void>; resolve: () => void } | undefined
let holdEnd: ReturnType<typeof setTimeout> | undefined

/** Cancels the queries that are running, and sends no others until `releaseQueries` is called, or for 15 s. */
export async function holdQueries(queryClient: QueryClient): Promise<void> {
  releaseQueries()
  held = Promise.withResolvers()
  holdEnd = setTimeout(releaseQueries, MAX_HOLD_MS)
  await queryClient.cancelQueries()
}

/** Sends the queries that `holdQueries` held back and that were not cancelled meanwhile. */
export function releaseQueries() {
  clearTimeout(holdEnd)
  held?.resolve()
  held = undefined
}

async function ask<N extends ActionName>(name: N, input: ActionInput<N>, signal: AbortSignal) {
  await held?.promise
  signal.throwIfAborted()
  return limited(name, () => invoke(name, input, { signal }), signal)
}

/** Time, in milliseconds, for which the hub caches the counts of a project. */
const KEPT_MS = 2_000

/** Query options of an action with the key `[name, input]` and the polling interval from `refresh.ts`. */
export function actionQuery<N extends ActionName>(name: N, input: ActionInput<N>) {
  const { intervalMs, staleMs } = refreshOf(name)
  return queryOptions<ActionOutput<N>>({
    queryKey: [name, input],
    queryFn: ({ signal }) => ask(name, input, signal),
    // The hub caches counts of large projects for 2 s. An answer with cached counts may miss the change that caused the refetch, so
    // the query is sent again after 2 s.
    refetchInterval: ({ state }) =>
      (state.data as { isKept?: boolean } | undefined)?.isKept ? KEPT_MS : intervalMs,
    staleTime: staleMs,
  })
}

/** The answer of a query. Suspends while it loads, and throws if the first load fails. */
export function useAction<N extends ActionName>(name: N, input: ActionInput<N>): ActionOutput<N> {
  return useSuspenseQuery(actionQuery(name, input)).data
}

/** The state of a query, without suspense. `keepPrevious` shows the last answer while another input loads. */
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

/** Actions that return lists in pages, with a cursor for the next page. */
export type PagedActionName = {
  [N in ActionName]: ActionInput<N> extends { cursor?: string | null | undefined }
    ? ActionOutput<N> extends { nextCursor?: string | undefined }
      ? N
      : never
    : never
}[ActionName]

/** Query options of a paged list with the key `[name, input, 'pages']`. */
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

/** State of a paged list, without suspense. `data` keeps the previous answer while another filter or sort order loads. */
export function useActionPages<N extends PagedActionName>(name: N, input: Omit<ActionInput<N>, 'cursor'>) {
  return useInfiniteQuery({
    ...actionPagesQuery(name, input),
    placeholderData: (previous, query) =>
      subjectOf(query?.queryKey[1]) === subjectOf(input) ? previous : undefined,
  })
}

/** JSON of an input without its filter and sort order. Two inputs with equal JSON query the same list. */
function subjectOf(input: object | undefined): string {
  return JSON.stringify({ ...input, filter: undefined, sort: undefined })
}

/**
 * Ids of entities that this page load has deleted. Their queries are not refetched: the live stream may report the
 * deletion while the entity's page is still on screen, and the refetch would fail.
 */
const gone = new Set<string>()

/** Marks an entity as deleted by this page. Removes the mark if the hub has refused the deletion. */
export function setGone(id: string, isDeleted: boolean) {
  if (isDeleted) gone.add(id)
  else gone.delete(id)
}

/** Whether the input of a query contains the id of an entity that this page load has deleted. The parameter is the query key. */
export function isGone([, input]: readonly unknown[]): boolean {
  return Object.values((input ?? {}) as object).some(value => gone.has(value as string))
}

/** Matches the queries about entities that this page load has deleted. */
const OF_GONE = { predicate: ({ queryKey }: Query) => isGone(queryKey) }

/** Invalidates all queries of the given actions. Queries on screen are refetched. */
export function invalidateActions(queryClient: QueryClient, names: readonly ActionName[]): Promise<void> {
  return queryClient.invalidateQueries({
    predicate: ({ queryKey }) => names.includes(queryKey[0] as ActionName) && !isGone(queryKey),
  })
}

type CommandOptions<N extends ActionName> = {
  /** Query actions whose answers change. Their queries are refetched before the mutation resolves. */
  invalidates?: readonly ActionName[]
  /** Returns the id of the entity that the action deletes. Queries about it are cancelled and not refetched, unless the action fails. */
  deletes?: (input: ActionInput<N>) => string
  /** Runs after success and before the refetch, for example to leave the page of a deleted entity. */
  onSuccess?: (output: ActionOutput<N>, input: ActionInput<N>) => unknown
}

/** Mutation that runs a command (an action that changes data). `mutateAsync(input)` resolves after the refetch of affected queries. */
export function useCommand<N extends ActionName>(
  name: N,
  { invalidates = [], deletes, onSuccess }: CommandOptions<N> = {},
) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationKey: [name],
    mutationFn: (input: ActionInput<N>) => invoke(name, input),
    // Keeps one-time secrets out of the mutation cache after their dialog is closed.
    gcTime: 0,
    onMutate: async input => {
      if (!deletes) return
      setGone(deletes(input), true)
      // The hub would refuse the queries that reach it after the deletion.
      await queryClient.cancelQueries(OF_GONE)
    },
    onError: (_error, input) => {
      if (!deletes) return
      void queryClient.refetchQueries({ ...OF_GONE, type: 'active' })
      setGone(deletes(input), false)
    },
    onSuccess: async (output, input) => {
      await onSuccess?.(output, input)
      await invalidateActions(queryClient, invalidates)
    },
  })
}
