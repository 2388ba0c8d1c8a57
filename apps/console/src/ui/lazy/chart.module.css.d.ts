declare const styles: {
  readonly axis: string
  readonly frame: string
  readonly label: string
  readonly now: string
}
export default styles
