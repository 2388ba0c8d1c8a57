import { QueryErrorResetBoundary } from '@tanstack/react-query'
import { CircleAlert, RefreshCw } from 'lucide-react'
import { type ReactNode, Suspense } from 'react'
import { Button } from './Button.tsx'
import { EmptyState } from './EmptyState.tsx'
import { ErrorBoundary } from './ErrorBoundary.tsx'
import { ErrorText } from './ErrorText.tsx'
import { Skeleton } from './Skeleton.tsx'

type SectionBoundaryProps = {
  /** What it holds, in lower case: "Could not load events", "Loading events". */
  what: string
  /** Shown while it loads; grey bars by default. */
  fallback?: ReactNode
  children: ReactNode
}

/** A region that loads alone and fails alone, with Try again. */
export function SectionBoundary({ what, fallback, children }: SectionBoundaryProps) {
  return (
    <QueryErrorResetBoundary>
      {({ reset }) => (
        <ErrorBoundary
          onReset={reset}
          fallback={(error, retry) => (
            <div role="alert">
              <EmptyState
                bare
                icon={CircleAlert}
                tone="bad"
                title={`Could not load ${what}`}
                action={
                  <Button icon={RefreshCw} onClick={retry}>
                    Try again
                  </Button>
                }
              >
                <ErrorText error={error} />
              </EmptyState>
            </div>
          )}
        >
          <Suspense fallback={fallback ?? <Skeleton label={`Loading ${what}`} />}>{children}</Suspense>
        </ErrorBoundary>
      )}
    </QueryErrorResetBoundary>
  )
}
