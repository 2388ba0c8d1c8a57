declare const styles: {
  readonly countdown: string
}
export default styles
