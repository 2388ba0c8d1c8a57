declare const styles: {
  readonly spinner: string
  readonly turning: string
}
export default styles
