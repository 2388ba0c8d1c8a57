declare const styles: {
  readonly actions: string
  readonly details: string
  readonly raw: string
}
export default styles
