import { LinkButton } from './LinkButton.tsx'
import { Main } from './Main.tsx'
import { Result } from './Result.tsx'
import { Strip } from './Strip.tsx'

/** What an address shows that leads nowhere: a strip with one missing tick. */
export function NotFound() {
  return (
    <Main>
      <Result
        art={<Strip label="Eleven ticks in a row, one of them missing" size="list" shares={SHARES} />}
        title="Page not Found"
        action={
          <LinkButton to="/" variant="primary">
            Go to the home page
          </LinkButton>
        }
      >
        The page you are looking for does not exist. Please check the URL or go back to the home page.
      </Result>
    </Main>
  )
}

const SHARES = Array.from({ length: 11 }, (_, index) => (index === 7 ? undefined : 1))
