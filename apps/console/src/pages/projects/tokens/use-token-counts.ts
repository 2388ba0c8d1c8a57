import { useQueries, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { actionQuery, invalidateActions } from '../../../api/queries.ts'
import type { Token } from './token.ts'

/**
 * Number of the devices that enrolled with a token, and of those among them with pending certificates. Undefined while the hub counts,
 * null if it could not count, or not within 2 s.
 */
export type TokenCounts = { devices: number | null | undefined; pending: number | null | undefined }

/** Tokens in one request. Each has two filters, and a request counts at most 12 (`MAX_COUNTED_FILTERS`). */
const TOKENS_PER_REQUEST = 6

/** Counts the devices of the tokens on screen, by token id. */
export function useTokenCounts(projectId: string, tokens: readonly Token[]): Map<string, TokenCounts> {
  const queryClient = useQueryClient()
  const tokenIds = tokens.map(({ tokenId }) => tokenId)
  const enrolled = tokens.reduce((sum, { enrolledDevices }) => sum + enrolledDevices, 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: counts again after a device has enrolled
  useEffect(() => {
    void invalidateActions(queryClient, ['projects_QueryDeviceCounts'])
  }, [queryClient, enrolled])
  const parts = Array.from({ length: Math.ceil(tokenIds.length / TOKENS_PER_REQUEST) }, (_, index) =>
    tokenIds.slice(index * TOKENS_PER_REQUEST, (index + 1) * TOKENS_PER_REQUEST),
  )
  const answers = useQueries({
    queries: parts.map(part =>
      actionQuery('projects_QueryDeviceCounts', {
        projectId,
        filters: part.flatMap(tokenId => [{ tokenId }, { tokenId, status: 'pending' as const }]),
      }),
    ),
  })
  return new Map(
    parts.flatMap((part, at) => {
      const { data, error } = answers[at]!
      // After an error the numbers are null, as after 2 s, so that the cell does not say "Counting…" forever.
      const countOf = (index: number) => (data ? data.counts[index] : error ? null : undefined)
      return part.map((tokenId, index) => [
        tokenId,
        { devices: countOf(2 * index), pending: countOf(2 * index + 1) },
      ])
    }),
  )
}
