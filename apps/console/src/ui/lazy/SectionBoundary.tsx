import { QueryErrorResetBoundary, useQueryClient } from '@tanstack/react-query'
import { CircleAlert, RefreshCw } from 'lucide-react'
import { type ReactNode, Suspense, useEffect } from 'react'
import { hashOfFailed } from '../../api/queries.ts'
import { EmptyState } from '../app/EmptyState.tsx'
import { ErrorBoundary } from '../app/ErrorBoundary.tsx'
import { Button } from '../Button.tsx'
import { ErrorText } from '../ErrorText.tsx'
import { Skeleton } from '../Skeleton.tsx'

type SectionBoundaryProps = {
  /** Name of the content in lower case, for messages such as "Could not load events" and "Loading events". */
  what: string
  children: ReactNode
}

/** A region with its own loading state and its own error message, which has a button "Try again". */
export function SectionBoundary({ what, children }: SectionBoundaryProps) {
  return (
    <QueryErrorResetBoundary>
      {({ reset }) => (
        <ErrorBoundary
          fallback={(error, again) => (
            <Failed
              what={what}
              error={error}
              onAnswer={again}
              onRetry={() => {
                reset()
                again()
              }}
            />
          )}
        >
          <Suspense fallback={<Skeleton label={`Loading ${what}`} />}>{children}</Suspense>
        </ErrorBoundary>
      )}
    </QueryErrorResetBoundary>
  )
}

type FailedProps = { what: string; error: unknown; onAnswer: () => void; onRetry: () => void }

function Failed({ what, error, onAnswer, onRetry }: FailedProps) {
  useAnswered(error, onAnswer)
  return (
    <div role="alert">
      <EmptyState
        bare
        icon={CircleAlert}
        tone="bad"
        title={`Could not load ${what}`}
        action={
          <Button icon={RefreshCw} onClick={onRetry}>
            Try again
          </Button>
        }
      >
        <ErrorText error={error} />
      </EmptyState>
    </div>
  )
}

/** Calls `onAnswer` when the failed query succeeds later: by polling, or because another section runs the same query. */
function useAnswered(error: unknown, onAnswer: () => void) {
  const cache = useQueryClient().getQueryCache()
  useEffect(() => {
    const hash = hashOfFailed(error)
    if (!hash) return
    if (cache.get(hash)?.state.status === 'success') onAnswer()
    return cache.subscribe(event => {
      const isAnswer = event.type === 'updated' && event.action.type === 'success'
      if (isAnswer && event.query.queryHash === hash) onAnswer()
    })
  }, [cache, error, onAnswer])
}
