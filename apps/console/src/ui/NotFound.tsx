import type { ReactNode } from 'react'
import { ErrorDetails } from './ErrorDetails.tsx'
import { LinkButton } from './LinkButton.tsx'
import { Main } from './Main.tsx'
import { Result } from './Result.tsx'
import { Strip } from './Strip.tsx'

/** Page for an unknown URL. Its picture is a device strip (a row of marks, one for each device) with one missing mark. */
export function NotFound() {
  return <Absent />
}

/**
 * Page for an entity that does not exist, for example a device. `reason` is the error or text that the button "Show Error"
 * reveals. `children` are links that are likelier than that to the home page.
 */
export function Absent({ reason, children }: { reason?: unknown; children?: ReactNode }) {
  const home = (
    <>
      {children}
      <LinkButton to="/" variant={children === undefined ? 'primary' : 'secondary'}>
        Go to the home page
      </LinkButton>
    </>
  )
  return (
    <Main>
      <Result
        art={<Strip label="Eleven ticks in a row, one of them missing" size="list" shares={SHARES} />}
        title="Page not Found"
        action={reason === undefined ? home : <ErrorDetails error={reason}>{home}</ErrorDetails>}
      >
        The page you are looking for does not exist. Please check the URL or go back to the home page.
      </Result>
    </Main>
  )
}

const SHARES = Array.from({ length: 11 }, (_, index) => (index === 7 ? undefined : 1))
