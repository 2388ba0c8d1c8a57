declare const styles: {
  readonly actions: string
  readonly cause: string
  readonly detail: string
}
export default styles
