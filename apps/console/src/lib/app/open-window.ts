/**
 * Opens a window during the click and loads a URL in it once the hub has issued the URL. Pop-up blockers stop windows
 * that are opened later than the click. If the hub issues no URL, the window is closed and the promise rejects.
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
