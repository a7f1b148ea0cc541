/**
 * A plugin for `--proxy-plugins`: nobody deletes a namespace through the proxy. It stands in front of the cluster plugin (2000)
 * and answers just those requests; everything else goes on to the next plugin.
 */
export default function protectNamespaces({ StatusError, log }) {
  return {
    name: 'protect-namespaces',
    order: 1900,
    supports: ({ verb, resource }) => verb === 'delete' && resource?.group === '' && resource.resource === 'namespaces',
    connect: ({ resource, request }) => {
      log.info({ namespace: resource.name, user: request.user.name }, 'a namespace was to be deleted')
      throw new StatusError('forbidden', `namespaces are not deleted through the fleet: ${resource.name}`)
    },
  }
}
