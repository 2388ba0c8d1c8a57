import { useQuery } from '@tanstack/react-query'
import { loadCode } from '../../../lib/load-code.ts'
import type { Where } from './read-where.ts'

const read = () => loadCode(() => import('./read-where.ts'))

/** Reads the search parameter `where`, with code that is loaded for the first one. Until then `where` is the one before it, or undefined. */
export function useWhere(text: string | undefined) {
  const { data, error } = useQuery({
    queryKey: ['where', text],
    queryFn: async () => (await read()).readWhere(text!),
    enabled: text !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (previous: Where | undefined) => previous,
  })
  if (error) throw error
  const where = text === undefined ? undefined : data
  return { where, isRead: text === undefined || where !== undefined }
}
