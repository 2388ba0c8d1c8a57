/**
 * Opens an address that has yet to be issued, in a window that the click itself opens: blockers of pop-ups stop any later one.
 * Rejects, and closes the window, when there is no address.
 */
export async function openIssued(issue: () => Promise<{ url: string }>): Promise<void> {
  const opened = window.open('about:blank')
  try {
    if (!opened)
      throw new Error('The browser blocked the new window. Allow windows from this site and try again.')
    opened.opener = null
    const { url } = await issue()
    opened.location.replace(url)
  } catch (error) {
    opened?.close()
    throw error
  }
}
