/** The definitions of what every API server of Kubernetes speaks. Source: apimachinery pkg/apis/meta/v1/types.go. */
import { META, meta, metaKind, ownKind, type Definition, type Definitions, type Property, type Type } from './model.ts'

const TYPE_META = {
  apiVersion: plain('string', 'Group and version of this object.'),
  kind: plain('string', 'What this object is.'),
}

const STRINGS: Type = { list: 'string', owned: 'atomic' }
const listOf = (name: string): Type => ({ list: meta(name), owned: 'atomic' })

const DISCOVERY: Readonly<Record<string, Definition>> = {
  APIGroup: {
    text: 'A group of resources and the versions it is served in.',
    kinds: [metaKind('APIGroup')],
    properties: {
      ...TYPE_META,
      name: needed('string', 'Name of the group.'),
      versions: { ...plain(listOf('GroupVersionForDiscovery'), 'Its versions.'), required: true },
      preferredVersion: {
        ...plain(meta('GroupVersionForDiscovery'), 'The version to take if any will do.'),
        zero: true,
      },
      serverAddressByClientCIDRs: plain(
        listOf('ServerAddressByClientCIDR'),
        'Where clients reach this server, by their network.',
      ),
    },
  },
  GroupVersionForDiscovery: {
    text: 'A version of a group.',
    properties: {
      groupVersion: needed('string', 'Group and version, e.g. apps/v1.'),
      version: needed('string', 'The version alone, e.g. v1.'),
    },
  },
  ServerAddressByClientCIDR: {
    text: 'An address for clients of one network.',
    properties: {
      clientCIDR: needed('string', 'The network of the clients.'),
      serverAddress: needed('string', 'Host and port that they use.'),
    },
  },
  APIResourceList: {
    text: 'The resources of a group and version.',
    kinds: [metaKind('APIResourceList')],
    properties: {
      ...TYPE_META,
      groupVersion: needed('string', 'The group and version.'),
      resources: { ...plain(listOf('APIResource'), 'The resources and subresources.'), required: true },
    },
  },
  APIResource: {
    text: 'A resource, and what can be done with it.',
    properties: {
      name: needed('string', 'Its name in paths, in the plural.'),
      singularName: needed('string', 'Its name in the singular.'),
      namespaced: needed('boolean', 'Whether its objects live in namespaces.'),
      group: plain('string', 'Group of its kind where that is not the group of the list.'),
      version: plain('string', 'Version of its kind where that is not the version of the list.'),
      kind: needed('string', 'Kind of its objects.'),
      verbs: { ...plain({ list: 'string' }, 'What can be done with it.'), required: true },
      shortNames: plain(STRINGS, 'Shorter names for command lines.'),
      categories: plain(STRINGS, 'Groups of resources that it is shown with, e.g. all.'),
      storageVersionHash: plain(
        'string',
        'Changes with the version that objects are stored in. Compare for equality alone.',
      ),
    },
  },
}

const OBJECTS: Readonly<Record<string, Definition>> = {
  Time: { text: 'A time, as RFC 3339 writes it.', scalar: 'string', format: 'date-time' },
  ListMeta: {
    text: 'What every list has.',
    properties: {
      selfLink: plain('string', 'Not filled any more.'),
      resourceVersion: plain('string', 'The version of the list: a watch from here brings what changes afterwards.'),
      continue: plain('string', 'Where there are further pages: send it along to get the next one.'),
      remainingItemCount: plain('int64', 'About how many items are on further pages, where that is known.'),
    },
  },
  ManagedFieldsEntry: {
    text: 'The fields that one manager set in one way.',
    properties: {
      manager: plain('string', 'Who.'),
      operation: plain('string', 'How: Apply or Update.'),
      apiVersion: plain('string', 'Group and version that the fields are named in.'),
      time: plain(meta('Time'), 'When this entry changed last.'),
      fieldsType: plain('string', 'How the fields are written down: FieldsV1.'),
      fieldsV1: plain(meta('FieldsV1'), 'The fields.'),
      subresource: plain('string', 'The subresource that they were set through.'),
    },
  },
  FieldsV1: {
    text: 'A set of fields, as a tree: f:NAME is a field, v:VALUE an item of a set, k:KEYS an item of a list with keys, . the thing itself.',
  },
}

const OPTIONS: Readonly<Record<string, Definition>> = {
  DeleteOptions: {
    text: 'How something is deleted.',
    kinds: [metaKind('DeleteOptions'), ownKind('DeleteOptions')],
    properties: {
      ...TYPE_META,
      gracePeriodSeconds: plain('int64', 'Seconds that the object is given to end by itself. 0: at once.'),
      preconditions: plain(meta('Preconditions'), 'What must hold, else the answer is a conflict.'),
      orphanDependents: plain('boolean', 'Outdated; see propagationPolicy.'),
      propagationPolicy: plain('string', 'What becomes of objects that it owns: Orphan, Background or Foreground.'),
      dryRun: plain(STRINGS, 'All: everything is checked, nothing is stored.'),
    },
  },
  Preconditions: {
    text: 'What must hold before something is done.',
    properties: {
      uid: plain('string', 'The UID that the object must have.'),
      resourceVersion: plain('string', 'The version that the object must have.'),
    },
  },
  Patch: { text: 'A change of an object; its content type says in which form.' },
}

const ANSWERS: Readonly<Record<string, Definition>> = {
  Status: {
    text: 'How a call ended that returns no object.',
    kinds: [metaKind('Status')],
    properties: {
      ...TYPE_META,
      metadata: { ...plain(meta('ListMeta'), 'Version and continue token, where there are such.'), zero: true },
      status: plain('string', 'Success or Failure.'),
      message: plain('string', 'What happened, for people.'),
      reason: plain('string', 'What happened, in one word for programs.'),
      details: plain(meta('StatusDetails'), 'More of it, by reason.'),
      code: plain('int32', 'The HTTP status.'),
    },
  },
  StatusDetails: {
    text: 'More about how a call ended.',
    properties: {
      name: plain('string', 'Name of the object.'),
      group: plain('string', 'Group of the kind.'),
      kind: plain('string', 'Kind or resource of the object.'),
      uid: plain('string', 'UID of the object.'),
      causes: plain(listOf('StatusCause'), 'Each fault that was found.'),
      retryAfterSeconds: plain('int32', 'Seconds to wait before the next attempt.'),
    },
  },
  StatusCause: {
    text: 'One fault.',
    properties: {
      reason: plain('string', 'What is wrong, in one word for programs.'),
      message: plain('string', 'What is wrong, for people.'),
      field: plain('string', 'The field, e.g. spec.resourceSelectors[0].kind.'),
    },
  },
  WatchEvent: {
    text: 'One event of a watch.',
    kinds: [metaKind('WatchEvent'), ownKind('WatchEvent')],
    properties: {
      type: needed('string', 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.'),
      object: {
        ...plain(
          { ref: 'io.k8s.apimachinery.pkg.runtime.RawExtension' },
          'The object; of a bookmark just its version, of an error a Status.',
        ),
        required: true,
      },
    },
  },
}

export const META_DEFINITIONS: Definitions = {
  ...Object.fromEntries(
    Object.entries({ ...DISCOVERY, ...OBJECTS, ...OPTIONS, ...ANSWERS }).map(([name, definition]) => [
      `${META}.${name}`,
      definition,
    ]),
  ),
  'io.k8s.apimachinery.pkg.runtime.RawExtension': { text: 'An object of any kind.' },
}

function plain(type: Type, text: string): Property {
  return { type, text }
}

function needed(type: 'string' | 'boolean', text: string): Property {
  return { type, text, required: true, zero: true }
}
